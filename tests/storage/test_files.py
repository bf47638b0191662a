"""Staged files are published completely or not at all, and leave nothing behind."""

import errno
import os
import subprocess
from contextlib import ExitStack, contextmanager

import pytest
from clients import count_open_files, raise_error

from storage import files
from storage.errors import Busy, Full, StorageError, Unavailable
from storage.lock import Lock, OpenFolders
from tests.conftest import require_program


@pytest.fixture(params=["without a name", "named"])
def kind(request, monkeypatch, tmp_path):
    """Run the test with unnamed staged files (O_TMPFILE) and with named ones."""
    if request.param == "named":
        monkeypatch.setattr(files, "_O_TMPFILE", 0)
    elif not files._O_TMPFILE:
        pytest.skip("needs O_TMPFILE")
    return request.param


@contextmanager
def staged_file(folder, name, data):
    with files.open_folder(folder) as descriptor:
        with files.Staged(descriptor, name, data) as staged:
            yield staged


def names(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("is_new", [True, False])
def test_publishing_leaves_only_the_new_file(tmp_path, kind, is_new):
    file = tmp_path / "a.json"
    if not is_new:
        file.write_bytes(b"old")
    with staged_file(tmp_path, "a.json", b"new") as staged:
        assert not file.exists() if is_new else file.read_bytes() == b"old"
        staged.publish()
    assert names(tmp_path) == ["a.json"]
    assert file.read_bytes() == b"new"


def test_publishing_a_new_file_replaces_no_existing_file(tmp_path, kind):
    (tmp_path / "a.json").write_bytes(b"old")
    with staged_file(tmp_path, "a.json", b"new") as staged, pytest.raises(Busy):
        staged.publish_new()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"old"
    with staged_file(tmp_path, "b.json", b"new") as staged:
        staged.publish_new()
    assert names(tmp_path) == ["a.json", "b.json"]


def test_unpublished_content_leaves_no_file(tmp_path, kind):
    with staged_file(tmp_path, "a.json", b"new"):
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
def test_a_failed_write_leaves_no_file(tmp_path, monkeypatch, kind, call, number, expected):
    open_before = count_open_files()
    with monkeypatch.context() as patch:
        patch.setattr(os, call, raise_error(number))
        with pytest.raises(expected):
            with staged_file(tmp_path, "a.json", b"new") as staged:
                files.sync([staged.descriptor])
    assert names(tmp_path) == []
    assert count_open_files() == open_before


def test_an_error_in_closing_a_synced_file_does_not_undo_its_publication(
    tmp_path, monkeypatch, kind
):
    closed = os.close

    def close_and_fail(descriptor):
        closed(descriptor)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    open_before = count_open_files()
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close_and_fail)
        with staged_file(tmp_path, "a.json", b"new") as staged:
            files.sync([staged.descriptor])
            staged.publish_new()
        with files.open_folder(tmp_path) as folder:
            files.sync_folder(folder)
        assert files.read(tmp_path / "a.json")[0] == b"new"
        (tmp_path / "bookmarks").mkdir()
        with ExitStack() as opened, Lock().hold(OpenFolders(tmp_path, opened)):
            pass
    assert count_open_files() == open_before


def test_without_hard_links_another_program_s_new_file_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_O_TMPFILE", 0)
    monkeypatch.setattr(os, "link", raise_error(errno.EPERM))
    (tmp_path / "a.json").write_bytes(b"theirs")
    with staged_file(tmp_path, "a.json", b"mine") as staged, pytest.raises(Busy):
        staged.publish_new()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"theirs"


@pytest.mark.parametrize("publish", [files.Staged.publish, files.Staged.publish_new])
def test_a_failed_publication_leaves_no_file(tmp_path, monkeypatch, kind, publish):
    open_before = count_open_files()
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", raise_error(errno.ENOSPC))
        patch.setattr(os, "link", raise_error(errno.ENOSPC))
        with pytest.raises(Full), staged_file(tmp_path, "a.json", b"new") as staged:
            publish(staged)
    assert names(tmp_path) == []
    assert count_open_files() == open_before


def test_a_temporary_file_that_cannot_be_removed_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_O_TMPFILE", 0)
    open_before = count_open_files()
    with monkeypatch.context() as patch:
        for call in ("link", "rename", "unlink"):
            patch.setattr(os, call, raise_error(errno.EROFS))
        with pytest.raises(Unavailable), staged_file(tmp_path, "a.json", b"new") as staged:
            staged.publish()
    assert count_open_files() == open_before
    (left,) = tmp_path.iterdir()
    assert files.is_temporary(left.name)


def test_publishing_does_not_replace_a_folder(tmp_path, kind):
    (tmp_path / "a.json").mkdir()
    for publish in (files.Staged.publish, files.Staged.publish_new):
        with pytest.raises(StorageError), staged_file(tmp_path, "a.json", b"new") as staged:
            publish(staged)
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL])
def test_a_file_system_without_o_tmpfile_gets_a_named_temporary_file(tmp_path, monkeypatch, number):
    if not files._O_TMPFILE:
        pytest.skip("needs O_TMPFILE")
    real = os.open

    def open_named(path, flags, *rest, **more):
        if flags & files._O_TMPFILE == files._O_TMPFILE:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", open_named)
    with staged_file(tmp_path, "a.json", b"new") as staged:
        (temporary,) = tmp_path.iterdir()
        assert files.is_temporary(temporary.name)
        staged.publish()
    assert names(tmp_path) == ["a.json"]


def test_short_writes_are_continued(tmp_path, monkeypatch, kind):
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
        with staged_file(tmp_path, "a.json", bytes(range(256))) as staged:
            staged.publish()
    assert (tmp_path / "a.json").read_bytes() == bytes(range(256))


def test_two_staged_files_of_one_name_are_independent(tmp_path, kind):
    with staged_file(tmp_path, "a.json", b"1") as one:
        with staged_file(tmp_path, "a.json", b"2") as other:
            one.publish()
            other.publish()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"2"


def test_reading_returns_the_content_or_raises_the_error_of_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    open_before = count_open_files()
    content, status = files.read(tmp_path / "file")
    assert (content, status.st_size) == (b"content", len(b"content"))
    for name in ("folder", "link", "fifo"):
        with pytest.raises(files.BadFile):
            files.read(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        files.read(tmp_path / "missing")
    assert count_open_files() == open_before


def test_the_file_system_type_is_that_of_the_mount(tmp_path):
    require_program("findmnt")
    for folder in (tmp_path, "/proc", "/dev"):
        command = ["findmnt", "-n", "-o", "FSTYPE", "-T", str(folder)]
        expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        with files.open_folder(folder) as descriptor:
            assert files.file_system(descriptor) == expected.split()[-1]


def test_a_file_is_read_whole_though_the_system_returns_less_at_once(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_bytes(b"abcdefghij")
    read = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: read(descriptor, min(size, 4)))
    assert files.read(tmp_path / "a.json")[0] == b"abcdefghij"
