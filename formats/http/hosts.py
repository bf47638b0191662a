"""Many data folders in one process: `ROOT/{host}` for each host name."""

import functools
import os
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request

from formats.http import credentials, problems
from formats.http.access_log import HOST_VARIABLE
from formats.http.cache import Caches, make_caches
from formats.http.failed_logins import FailedLogins
from formats.http.response import HTTPError, add_common_headers, send
from formats.http.security import AccessControl, host_name, requested_host
from formats.http.site import requested_site
from storage import files
from storage.errors import StorageError, Unavailable
from storage.store import Store

# Each folder needs an inotify instance. By default, Linux allows a user 128.
MAX_OPEN = 100
# The name of the file `HOST.tokens` can have 255 bytes.
_SERVED_HOST = re.compile("[a-z0-9][a-z0-9.-]{0,247}")
_CANNOT_BE_USED_TEXT = "The folder of this host or its tokens cannot be used."
_Identity = tuple[int, int]  # The device and inode of a folder.
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class HostFolder:
    """The opened folder of a host."""

    def __init__(self, root: Path, host: str) -> None:
        """Open `root/host`. Raises OSError, even for a symbolic link."""
        self._named_path = root / host
        self._descriptor: int | None = None
        with files.open_folder(root) as descriptor:
            self._descriptor = os.open(host, _FOLDER_FLAGS, dir_fd=descriptor)
        status = os.fstat(self._descriptor)
        self.identity = (status.st_dev, status.st_ino)

    @property
    def path(self) -> Path:
        """A path that stays valid if the folder is renamed."""
        path = Path(f"/proc/self/fd/{self._descriptor}")
        if path.exists():
            return path
        return self._named_path  # Only Linux has /proc/self/fd.

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


class FolderCaches:
    """The folders that were used last, with their stores and caches. `get` is thread-safe."""

    def __init__(self, max_open: int, one_machine: bool, keep_deleted: int) -> None:
        self._max_open = max_open
        self._one_machine = one_machine
        self._keep_deleted = keep_deleted
        self._lock = threading.Lock()
        # Least recently used first.
        self._caches: OrderedDict[_Identity, Caches] = OrderedDict()

    def get(self, folder: HostFolder) -> Caches:
        """Return the caches of a folder, which keep its store open. Raises Unavailable."""
        key = folder.identity
        caches = self._caches.get(key)
        if caches is None:
            caches = self._make(folder)
        with self._lock:
            # Another thread may have added the folder meanwhile.
            caches = self._caches.setdefault(key, caches)
            self._caches.move_to_end(key)
            while len(self._caches) > self._max_open:
                self._caches.popitem(last=False)
        return caches

    def _make(self, folder: HostFolder) -> Caches:
        try:
            store = Store(folder.path, self._one_machine, self._keep_deleted)
        except StorageError as error:
            raise Unavailable(_CANNOT_BE_USED_TEXT) from error
        # The store's path is /proc/self/fd/N, so the folder must stay open.
        weakref.finalize(store, folder.close)
        return make_caches(store)


_MakeApplication = Callable[[Path, Callable[[], Caches], AccessControl], WSGIApplication]


@dataclass
class HostApplication:
    """The WSGI callable for all folders `root/{host}`."""

    root: Path
    make_application: _MakeApplication
    folder_caches: FolderCaches
    access_control: AccessControl  # For hosts without their own token file.
    _failed_logins: dict[str, FailedLogins] = field(default_factory=dict)

    def open(self) -> None:
        """Do nothing, unlike `Application`. The first request for a host opens its folder."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            app = self._requested_application(request)
        except Exception as error:
            response = problems.respond_problem(request, error, requested_site(request))
            add_common_headers(response, has_tokens=False, is_public=False)
            return send(request, response, start_response)
        return app(environ, start_response)

    def _requested_application(self, request: Request) -> WSGIApplication:
        host = host_name(requested_host(request) or "")
        request.environ[HOST_VARIABLE] = host
        folder = self._find_folder(host)
        control = self._control_access(host)
        open_caches = functools.partial(self.folder_caches.get, folder)
        return self.make_application(folder.path, open_caches, control)

    def _find_folder(self, host: str) -> HostFolder:
        names_token_file = host.endswith(".tokens")
        if _SERVED_HOST.fullmatch(host) and not names_token_file:
            try:
                return HostFolder(self.root, host)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                raise Unavailable(_CANNOT_BE_USED_TEXT) from error
        raise HTTPError(404, f"There are no bookmarks of the host {host!r} here.")

    def _control_access(self, host: str) -> AccessControl:
        """Read the tokens at each request, so that a removed token is refused at once."""
        file = self.root / f"{host}.tokens"
        tokens = self.access_control.tokens
        try:
            # After an error, the shared tokens must not be used.
            if not files.is_missing(file):
                tokens = credentials.read_tokens(file)
        except (StorageError, OSError) as error:
            raise Unavailable(_CANNOT_BE_USED_TEXT) from error
        return replace(
            self.access_control,
            tokens=tokens,
            base_url=f"//{host}",  # The scheme is that of the request.
            failed_logins=self._failed_logins.setdefault(host, FailedLogins()),
        )
