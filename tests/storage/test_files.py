"""Staged files: published whole or not at all, and nothing left behind."""

import errno
import os
import shutil
import subprocess

import pytest
from clients import descriptors

from storage import files
from storage.errors import Full, Stale, StorageError, Unavailable
from storage.files import Staged


@pytest.fixture(params=["without a name", "named"])
def kind(request, monkeypatch, tmp_path):
    """Staged files with no name, where the disk can; and such as must have one."""
    if request.param == "named":
        monkeypatch.setattr(files, "_O_TMPFILE", 0)
    elif not files._O_TMPFILE:
        pytest.skip("needs O_TMPFILE")
    return request.param


def fail(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


def names(folder):
    return sorted(os.listdir(folder))


def test_publishing_leaves_the_new_file_and_nothing_else(tmp_path, kind):
    with Staged(tmp_path, "a.json", b"new") as staged:
        assert "a.json" not in names(tmp_path)
        staged.publish()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"new"


def test_publishing_replaces_the_old_file(tmp_path, kind):
    (tmp_path / "a.json").write_bytes(b"old")
    with Staged(tmp_path, "a.json", b"new") as staged:
        assert (tmp_path / "a.json").read_bytes() == b"old"
        staged.publish()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"new"


def test_publishing_a_new_file_replaces_no_other(tmp_path, kind):
    (tmp_path / "a.json").write_bytes(b"old")
    with Staged(tmp_path, "a.json", b"new") as staged, pytest.raises(Stale):
        staged.publish_new()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"old"
    with Staged(tmp_path, "b.json", b"new") as staged:
        staged.publish_new()
    assert names(tmp_path) == ["a.json", "b.json"]


def test_content_that_is_not_published_leaves_nothing(tmp_path, kind):
    with Staged(tmp_path, "a.json", b"new"):
        pass
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "number", "expected"),
    [
        ("write", errno.ENOSPC, Full),
        ("write", errno.EDQUOT, Full),
        ("write", errno.EIO, Unavailable),
        ("fsync", errno.EIO, Unavailable),
        ("fsync", errno.ENOSPC, Full),
    ],
)
def test_a_failing_write_leaves_nothing(tmp_path, monkeypatch, kind, call, number, expected):
    open_before = descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail(number))
        with pytest.raises(expected):
            Staged(tmp_path, "a.json", b"new")
    assert names(tmp_path) == []
    assert descriptors() == open_before


@pytest.mark.parametrize("publish", [Staged.publish, Staged.publish_new])
def test_a_failing_publication_leaves_nothing(tmp_path, monkeypatch, kind, publish):
    open_before = descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail(errno.ENOSPC))
        patch.setattr(os, "link", fail(errno.ENOSPC))
        with pytest.raises(Full), Staged(tmp_path, "a.json", b"new") as staged:
            publish(staged)
    assert names(tmp_path) == []
    assert descriptors() == open_before


def test_a_temporary_file_that_cannot_be_removed_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_O_TMPFILE", 0)
    open_before = descriptors()
    with monkeypatch.context() as patch:
        for call in ("link", "rename", "unlink"):
            patch.setattr(os, call, fail(errno.EROFS))
        with pytest.raises(Unavailable), Staged(tmp_path, "a.json", b"new") as staged:
            staged.publish()
    assert descriptors() == open_before
    (left,) = tmp_path.iterdir()
    assert files.is_temporary(left.name)


def test_publishing_replaces_no_folder(tmp_path, kind):
    (tmp_path / "a.json").mkdir()
    for publish in (Staged.publish, Staged.publish_new):
        with pytest.raises(StorageError), Staged(tmp_path, "a.json", b"new") as staged:
            publish(staged)
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL])
def test_a_disk_without_o_tmpfile_gets_a_temporary_file(
    tmp_path, monkeypatch, number
):
    if not files._O_TMPFILE:
        pytest.skip("needs O_TMPFILE")
    real = os.open

    def open_named(path, flags, *rest, **more):
        if flags & files._O_TMPFILE == files._O_TMPFILE:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", open_named)
    with Staged(tmp_path, "a.json", b"new") as staged:
        (temporary,) = tmp_path.iterdir()
        assert files.is_temporary(temporary.name)
        staged.publish()
    assert names(tmp_path) == ["a.json"]


def test_short_writes_are_continued(tmp_path, monkeypatch, kind):
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
        with Staged(tmp_path, "a.json", bytes(range(256))) as staged:
            staged.publish()
    assert (tmp_path / "a.json").read_bytes() == bytes(range(256))


def test_two_staged_files_of_one_name_do_not_disturb_each_other(tmp_path, kind):
    with Staged(tmp_path, "a.json", b"1") as one, Staged(tmp_path, "a.json", b"2") as other:
        one.publish()
        other.publish()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"2"


@pytest.mark.parametrize("seconds", [1.0, 0.0], ids=["one at a time", "ahead"])
def test_a_slow_and_a_fast_disk_give_the_same_contents(tmp_path, monkeypatch, seconds):
    monkeypatch.setattr(files, "_SLOW_SECONDS", seconds)
    names = [f"{number}.json" for number in range(1000)]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / names[3]).unlink()
    for number, make in ((200, os.mkfifo), (300, os.mkdir), (400, lambda p: os.symlink("/", p))):
        (tmp_path / names[number]).unlink()
        make(tmp_path / names[number])
    before = descriptors()
    found = list(files.read_all(tmp_path, names))
    assert descriptors() == before
    for number, (name, content) in enumerate(zip(names, found, strict=True)):
        if number == 3:
            assert content is None
        elif number in (200, 300, 400):
            assert isinstance(content, files.BadFile)
        else:
            assert content[0] == name.encode() and content[1].st_size == len(name)


def test_reading_that_is_given_up_leaves_no_file_open(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_SLOW_SECONDS", 0.0)
    names = [f"{number}.json" for number in range(300)]
    for name in names:
        (tmp_path / name).touch()
    before = descriptors()
    contents = files.read_all(tmp_path, names)
    assert next(contents)[0] == b""
    contents.close()
    assert descriptors() == before


def test_the_file_system_is_that_of_the_mount(tmp_path):
    if shutil.which("findmnt") is None:
        pytest.skip("needs findmnt")
    for folder in (tmp_path, "/proc", "/dev"):
        command = ["findmnt", "-n", "-o", "FSTYPE", "-T", str(folder)]
        expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        with files.open_folder(folder) as descriptor:
            assert files.file_system(descriptor) == expected.split()[-1]
