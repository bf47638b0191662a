"""What the storage tests share: servers of every kind, disks of their own."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from clients import Server

from tests.conftest import until


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server by its command, as often as called."""
    servers: list[Server] = []

    def start(command: Sequence[str], **environment: str) -> Server:
        log = tmp_path / f"server-{len(servers)}.log"
        servers.append(Server(command, log, **environment))
        return servers[-1]

    yield start
    for server in servers:
        server.stop(signal.SIGTERM)


@pytest.fixture
def require_programs() -> Callable[..., None]:
    """Skips the test where it is not run by root or one of the programs is missing."""

    def require(*programs: str) -> None:
        if missing := [program for program in programs if shutil.which(program) is None]:
            pytest.skip("needs " + ", ".join(missing))
        if os.geteuid() != 0:
            pytest.skip("needs root")

    return require


class Mount:
    """A file system of the test's own."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        self.source = options[-1]
        self._options = options
        self._device: int | None = None  # stat() fails on an XFS that was shut down.
        self.mount()

    def mount(self) -> None:
        command = ["mount", *self._options, str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip("cannot mount: " + done.stderr.strip())
        self._device = self.path.stat().st_dev

    def remount(self, option: str) -> None:
        command = ["mount", "-o", f"remount,{option}", str(self.path)]
        subprocess.run(command, check=True, capture_output=True)

    def unmount(self) -> None:
        if self._device is not None:
            subprocess.run(["umount", str(self.path)], check=True, capture_output=True)
            # Another test's namespace that was made meanwhile holds it for as long as it lasts.
            number = f"{os.major(self._device)}:{os.minor(self._device)}"
            until(lambda: not Path(f"/sys/dev/block/{number}/loop").exists(), 60)
            self._device = None

    def abandon(self) -> None:
        """Unmounts it even if somebody uses it still."""
        if self._device is not None:
            subprocess.run(["umount", "-l", str(self.path)], check=True, capture_output=True)


@pytest.fixture
def mount(require_programs: Callable[..., None]) -> Iterator[Callable[..., Mount]]:
    """Mounts a file system by mount's options, and unmounts it after the test.

    It stands outside of ``tmp_path``: a mount that a killed test left would keep a later run of
    pytest from removing the folder around it.
    """
    with contextlib.ExitStack() as stack:

        def mount(*options: str) -> Mount:
            require_programs("mount", "umount")
            folder = tempfile.TemporaryDirectory(prefix="bookmarks-disk-")
            disk = Mount(Path(stack.enter_context(folder)), *options)
            stack.callback(disk.abandon)
            return disk

        yield mount


_FORMATS = {
    "ext4": ("mkfs.ext4", 64 * 1024 * 1024),
    "xfs": ("mkfs.xfs", 300 * 1024 * 1024),  # mkfs.xfs refuses a smaller one.
}


@pytest.fixture
def mount_image(
    mount: Callable[..., Mount], require_programs: Callable[..., None], tmp_path: Path
) -> Iterator[Callable[[str], Mount]]:
    """Make a file system of a type, `ext4` or `xfs`, in an image file, and mount it."""
    image = tmp_path / "disk.img"

    def mount_image(type: str) -> Mount:
        mkfs, size = _FORMATS[type]
        require_programs(mkfs)
        with image.open("wb") as file:
            os.truncate(file.fileno(), size)
        subprocess.run([mkfs, "-q", str(image)], check=True)
        return mount("-o", "loop", str(image))

    yield mount_image
    image.unlink(missing_ok=True)  # pytest keeps the folders of several runs.
