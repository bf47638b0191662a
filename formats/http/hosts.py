"""Many data folders in one process: `ROOT/{host}` for each host name."""

import functools
import os
import re
import stat
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import msgspec.structs
from webob import Request

from formats.http import credentials, problems
from formats.http.access_log import HOST_VARIABLE
from formats.http.cache import Caches, make_caches
from formats.http.response import HTTPError, add_common_headers, send
from formats.http.security import AccessControl, host_name, requested_host
from formats.http.site import requested_site
from storage import files
from storage.errors import StorageError, Unavailable
from storage.store import Store

# Each folder needs an inotify instance. By default, Linux allows a user 128.
MAX_OPEN = 100
# At most 248 characters, because the name of the file `HOST.tokens` has at most 255.
_SERVED_HOST = re.compile("[a-z0-9][a-z0-9.-]{0,247}")
_CANNOT_BE_USED_TEXT = "The folder of this host or its tokens cannot be used."


class _OpenFolder:
    """An open folder of a host, and the caches of its responses."""

    def __init__(self, folder: Path, one_machine: bool, keep_deleted: int) -> None:
        """Make missing subfolders. Raises OSError, Full or Unavailable."""
        opened = ExitStack()
        weakref.finalize(self, opened.close)
        # While the folder is open, no other folder gets its inode number.
        descriptor = opened.enter_context(files.open_folder(folder))
        self.status = os.fstat(descriptor)
        self.caches = make_caches(Store(folder, one_machine, keep_deleted))


class FolderCaches:
    """The folders that were used last, with their stores and caches. `get` is thread-safe."""

    def __init__(self, max_open: int, one_machine: bool, keep_deleted: int) -> None:
        self._max_open = max_open
        self._one_machine = one_machine
        self._keep_deleted = keep_deleted
        self._lock = threading.Lock()
        # The folder that was used last is at the end.
        self._opened: OrderedDict[Path, _OpenFolder] = OrderedDict()

    def get(self, folder: Path) -> Caches:
        """Return the caches of a folder, opened if necessary. Raises Unavailable."""
        try:
            opened = self._opened.get(folder)
            # A folder that was deleted and made again has another inode number. A new store makes
            # the folder's missing subfolders.
            if opened is None or not os.path.samestat(opened.status, os.lstat(folder)):
                opened = _OpenFolder(folder, self._one_machine, self._keep_deleted)
        except (StorageError, OSError) as error:
            raise Unavailable(_CANNOT_BE_USED_TEXT) from error
        return self._keep_open(folder, opened).caches

    def _keep_open(self, folder: Path, opened: _OpenFolder) -> _OpenFolder:
        with self._lock:
            other = self._opened.get(folder)
            if other and os.path.samestat(other.status, opened.status):
                opened = other  # Another thread may have opened the folder meanwhile.
            self._opened[folder] = opened
            self._opened.move_to_end(folder)
            while len(self._opened) > self._max_open:
                self._opened.popitem(last=False)
        return opened


_MakeApplication = Callable[[Path, Callable[[], Caches], AccessControl], WSGIApplication]


@dataclass
class HostApplication:
    """The WSGI callable for all folders `root/{host}`."""

    root: Path
    make_application: _MakeApplication
    folder_caches: FolderCaches
    access_control: AccessControl  # For hosts without their own token file.

    def open(self) -> None:
        """Do nothing: the first request for a host opens its folder."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            app = self._requested_application(request)
        except Exception as error:
            # No token is checked yet, so the page is that of a visitor.
            site = msgspec.structs.replace(requested_site(request), is_visitor=True)
            response = problems.respond_problem(request, error, site)
            add_common_headers(response, has_tokens=False, is_public=False)
            return send(request, response, start_response)
        return app(environ, start_response)

    def _requested_application(self, request: Request) -> WSGIApplication:
        host = host_name(requested_host(request) or "")
        request.environ[HOST_VARIABLE] = host
        folder = self._find_folder(host)
        control = self._control_access(host)
        open_caches = functools.partial(self.folder_caches.get, folder)
        return self.make_application(folder, open_caches, control)

    def _find_folder(self, host: str) -> Path:
        folder = self.root / host
        names_token_file = host.endswith(".tokens")
        is_served = _SERVED_HOST.fullmatch(host) and not names_token_file
        if not is_served or not _is_own_folder(folder):
            raise HTTPError(404, f"There are no bookmarks of the host {host!r} here.")
        return folder

    def _control_access(self, host: str) -> AccessControl:
        return replace(
            self.access_control,
            tokens=self._read_tokens(host),
            base_url=f"//{host}",
        )

    def _read_tokens(self, host: str) -> Sequence[bytes]:
        """Return the tokens of the host's own file or, without such a file, the shared tokens.

        Reads the file at each request, so that a removed token is refused at once.
        """
        file = self.root / f"{host}.tokens"
        if files.is_missing(file):
            return self.access_control.tokens
        # The shared tokens must not open a host whose own file cannot be read.
        try:
            return credentials.read_tokens(file)
        except (StorageError, OSError) as error:
            raise Unavailable(_CANNOT_BE_USED_TEXT) from error


def _is_own_folder(folder: Path) -> bool:
    """Return whether the path is a folder, not a symbolic link that may lead out of the root."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise Unavailable(_CANNOT_BE_USED_TEXT) from error
