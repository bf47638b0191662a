"""Fixtures of the storage tests: servers, and file systems that a test mounts."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from clients import Server, service_of

from storage.store import Store
from tests.conftest import require_program, until


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def other(store: Store, tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(command: Sequence[str], **environment: str) -> Server:
        log = tmp_path / f"server-{len(servers)}.log"
        servers.append(Server(command, log, **environment))
        return servers[-1]

    yield start
    for server in servers:
        server.stop(signal.SIGTERM)


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("shared")
    server = Server(service_of(folder / "data"), folder / "log")
    server.data = folder / "data"
    yield server
    server.stop()


@pytest.fixture
def shared_data(shared_service: Server) -> Path:
    return emptied(shared_service.data)


def emptied(data: Path) -> Path:
    """Remove everything from a data folder but its own two folders; return it."""
    own = (data / "bookmarks", data / "tombstones")
    for path in [*data.iterdir(), *own[0].glob("*"), *own[1].glob("*")]:
        if path.is_dir() and path not in own:
            shutil.rmtree(path)
        elif path not in own:
            path.unlink()
    return data


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    inodes: set[int] = set()
    fsync = os.fsync

    def sync(descriptor: int) -> None:
        inodes.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    return inodes


@pytest.fixture
def require_programs() -> Callable[..., None]:
    """Return a function that skips the test if a program is missing or the user is not root."""

    def require(*programs: str) -> None:
        require_program(*programs)
        if os.geteuid() != 0:
            pytest.skip("needs root")

    return require


class Mount:
    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        self._options = options
        self._device: int | None = None  # stat() fails on an XFS that was shut down.
        self.mount()

    def mount(self) -> None:
        command = ["mount", *self._options, str(self.path)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            pytest.skip("cannot mount: " + result.stderr.strip())
        self._device = self.path.stat().st_dev

    def remount(self, option: str) -> None:
        command = ["mount", "-o", f"remount,{option}", str(self.path)]
        subprocess.run(command, check=True, capture_output=True)

    def unmount(self) -> None:
        if self._device is not None:
            subprocess.run(["umount", str(self.path)], check=True, capture_output=True)
            # A mount namespace that another test created meanwhile keeps the loop device busy.
            number = f"{os.major(self._device)}:{os.minor(self._device)}"
            until(lambda: not Path(f"/sys/dev/block/{number}/loop").exists())
            self._device = None

    def abandon(self) -> None:
        """Unmount the file system even if a process still uses it."""
        if self._device is not None:
            subprocess.run(["umount", "-l", str(self.path)], check=True, capture_output=True)


@pytest.fixture
def mount(require_programs: Callable[..., None]) -> Iterator[Callable[..., Mount]]:
    """Return a function that mounts a file system by mount's options; unmount it after the test.

    The mount point is not in `tmp_path`: pytest could not remove that folder if a killed test left
    the file system mounted.
    """
    with contextlib.ExitStack() as stack:

        def mount(*options: str) -> Mount:
            require_programs("mount", "umount")
            folder = tempfile.TemporaryDirectory(prefix="bookmarks-disk-")
            disk = Mount(Path(stack.enter_context(folder)), *options)
            stack.callback(disk.abandon)
            return disk

        yield mount


DISK_SIZE = 300 * 1024 * 1024  # The smallest that mkfs.xfs accepts.


@pytest.fixture
def mount_image(
    mount: Callable[..., Mount], require_programs: Callable[..., None], tmp_path: Path
) -> Iterator[Callable[[str], Mount]]:
    """Return a function that mounts a new `ext4` or `xfs` in an image file."""
    image = tmp_path / "disk.img"

    def mount_image(type: str) -> Mount:
        mkfs = f"mkfs.{type}"
        require_programs(mkfs)
        with image.open("wb") as file:
            os.truncate(file.fileno(), DISK_SIZE)
        subprocess.run([mkfs, "-q", str(image)], check=True)
        return mount("-o", "loop", str(image))

    yield mount_image
    image.unlink(missing_ok=True)  # pytest keeps the temporary folders of several runs.
