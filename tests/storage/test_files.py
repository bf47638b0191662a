"""Staged files are published completely or not at all, and leave nothing behind."""

import errno
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from clients import count_open_files, raise_error

from storage import files
from storage.errors import Busy, Full, Unavailable
from storage.lock import Lock, OpenFolders
from tests.conftest import require_program


@pytest.fixture(params=["without a name", "named"])
def kind(request, monkeypatch):
    """Run the test with unnamed staged files (O_TMPFILE) and with named ones."""
    if request.param == "named":
        monkeypatch.setattr(files, "_O_TMPFILE", 0)
    elif not files._O_TMPFILE:
        pytest.skip("needs O_TMPFILE")


@pytest.fixture(autouse=True)
def require_all_closed():
    before = count_open_files()
    yield
    assert count_open_files() == before


@contextmanager
def staged_file(folder, name="a.json", data=b"new"):
    with files.open_folder(folder) as descriptor:
        with files.Staged(descriptor, name, data) as staged:
            yield staged


def contents(folder):
    return {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}


def test_only_what_is_published_has_a_name(tmp_path, kind):
    with staged_file(tmp_path):
        pass
    assert contents(tmp_path) == {}
    with staged_file(tmp_path) as staged:
        assert not (tmp_path / "a.json").exists()
        staged.publish_new()
    assert contents(tmp_path) == {"a.json": b"new"}
    with staged_file(tmp_path, data=b"newer") as staged:
        assert (tmp_path / "a.json").read_bytes() == b"new"
        staged.replace_old()
    assert contents(tmp_path) == {"a.json": b"newer"}


@pytest.mark.parametrize("has_hard_links", [True, False])
def test_publishing_a_new_file_replaces_no_other_file(tmp_path, monkeypatch, kind, has_hard_links):
    if not has_hard_links:
        monkeypatch.setattr(files, "_O_TMPFILE", 0)
        monkeypatch.setattr(os, "link", raise_error(errno.EPERM))
    (tmp_path / "a.json").write_bytes(b"theirs")
    with staged_file(tmp_path) as staged, pytest.raises(Busy):
        staged.publish_new()
    assert contents(tmp_path) == {"a.json": b"theirs"}


@pytest.mark.parametrize("publish", [files.Staged.replace_old, files.Staged.publish_new])
@pytest.mark.parametrize("calls", [["write"], ["fsync"], ["link", "rename"]], ids=str)
def test_a_failed_write_or_publication_leaves_no_file(tmp_path, monkeypatch, kind, publish, calls):
    errors = ((errno.ENOSPC, Full), (errno.EDQUOT, Full), (errno.EIO, Unavailable))
    for number, expected in errors:
        with monkeypatch.context() as patch, pytest.raises(expected):
            for call in calls:
                patch.setattr(os, call, raise_error(number))
            with staged_file(tmp_path) as staged:
                files.sync([staged.descriptor])
                publish(staged)
        assert contents(tmp_path) == {}


def test_an_error_in_closing_a_synced_file_keeps_it_published(tmp_path, monkeypatch, kind):
    closed = os.close

    def close_and_fail(descriptor):
        closed(descriptor)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "bookmarks").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close_and_fail)
        with staged_file(tmp_path) as staged:
            files.sync([staged.descriptor])
            staged.publish_new()
        with files.open_folder(tmp_path) as folder:
            files.sync_folder(folder)
        assert files.read(tmp_path / "a.json")[0] == b"new"
        with OpenFolders(tmp_path) as folders, Lock().hold(folders):
            pass


def test_a_temporary_file_that_cannot_be_removed_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_O_TMPFILE", 0)
    with monkeypatch.context() as patch:
        for call in ("link", "rename", "unlink"):
            patch.setattr(os, call, raise_error(errno.EROFS))
        with pytest.raises(Unavailable), staged_file(tmp_path) as staged:
            staged.replace_old()
    (left,) = tmp_path.iterdir()
    assert files.is_temporary(left.name)


@pytest.mark.skipif(not files._O_TMPFILE, reason="needs O_TMPFILE")
@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL])
def test_a_file_system_without_o_tmpfile_gets_a_named_temporary_file(tmp_path, monkeypatch, number):
    real = os.open

    def open_named(path, flags, *rest, **more):
        if flags & files._O_TMPFILE == files._O_TMPFILE:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", open_named)
    with staged_file(tmp_path) as staged:
        (temporary,) = tmp_path.iterdir()
        assert files.is_temporary(temporary.name)
        staged.replace_old()
    assert contents(tmp_path) == {"a.json": b"new"}


def test_short_reads_and_writes_are_continued(tmp_path, monkeypatch):
    data, read, write = bytes(range(256)), os.read, os.write
    monkeypatch.setattr(os, "read", lambda descriptor, size: read(descriptor, min(size, 7)))
    monkeypatch.setattr(os, "write", lambda descriptor, rest: write(descriptor, rest[:7]))
    with staged_file(tmp_path, data=data) as staged:
        staged.replace_old()
    assert files.read(tmp_path / "a.json")[0] == data


def test_the_file_system_type_is_that_of_the_mount(tmp_path):
    require_program("findmnt")
    for folder in (tmp_path, "/proc", "/dev"):
        command = ["findmnt", "-n", "-o", "FSTYPE", "-T", str(folder)]
        expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        with files.open_folder(folder) as descriptor:
            assert files.file_system(descriptor) == expected.split()[-1]


def test_a_file_system_is_found_behind_a_mount_point_with_line_separators(tmp_path, monkeypatch):
    copy = tmp_path / "mountinfo"
    odd = "1 1 0:1 / /a\f\r\r\x85\u2028 rw - ext4 /dev/a rw\n"
    copy.write_text(odd + Path("/proc/self/mountinfo").read_text())
    monkeypatch.setattr(files, "open", lambda _, **options: open(copy, **options), raising=False)
    with files.open_folder("/proc") as descriptor:
        assert files.file_system(descriptor) == "proc"
