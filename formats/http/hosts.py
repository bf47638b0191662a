"""Many data folders in one process: `ROOT/{host}` for each host name."""

import functools
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
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


class FolderCaches:
    """The folders that were used last, with their stores and caches. `get` is thread-safe."""

    def __init__(self, max_open: int, one_machine: bool, keep_deleted: int) -> None:
        self._max_open = max_open
        self._one_machine = one_machine
        self._keep_deleted = keep_deleted
        self._lock = threading.Lock()
        # The folder that was used last is at the end.
        self._caches: OrderedDict[Path, Caches] = OrderedDict()

    def get(self, folder: Path) -> Caches:
        """Return the caches of a folder, which keep its store open. Raises Unavailable."""
        if _is_empty(folder):
            self._forget(folder)
        caches = self._caches.get(folder)
        if caches is None:
            caches = self._make(folder)
        with self._lock:
            # Another thread may have added the folder meanwhile.
            caches = self._caches.setdefault(folder, caches)
            self._caches.move_to_end(folder)
            while len(self._caches) > self._max_open:
                self._caches.popitem(last=False)
        return caches

    def _forget(self, folder: Path) -> None:
        """Close the store of a folder that was emptied. Only a new store makes its subfolders."""
        with self._lock:
            self._caches.pop(folder, None)

    def _make(self, folder: Path) -> Caches:
        try:
            store = Store(folder, self._one_machine, self._keep_deleted)
        except StorageError as error:
            raise Unavailable(_CANNOT_BE_USED_TEXT) from error
        return make_caches(store)


def _is_empty(folder: Path) -> bool:
    try:
        return not os.listdir(folder)
    except OSError as error:
        raise Unavailable(_CANNOT_BE_USED_TEXT) from error


_MakeApplication = Callable[[Path, Callable[[], Caches], AccessControl], WSGIApplication]


@dataclass
class HostApplication:
    """The WSGI callable for all folders `root/{host}`."""

    root: Path
    make_application: _MakeApplication
    folder_caches: FolderCaches
    access_control: AccessControl  # For hosts without their own token file.

    def open(self) -> None:
        """Do nothing, unlike `Application`. The first request for a host opens its folder."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            app = self._requested_application(request)
        except Exception as error:
            # No token is checked yet.
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
        """Read the tokens at each request, so that a removed token is refused at once."""
        file = self.root / f"{host}.tokens"
        tokens = self.access_control.tokens
        try:
            # `is_missing` returns False after an error. Then reading fails, too, so that the
            # shared tokens do not open the folder.
            if not files.is_missing(file):
                tokens = credentials.read_tokens(file)
        except (StorageError, OSError) as error:
            raise Unavailable(_CANNOT_BE_USED_TEXT) from error
        return replace(
            self.access_control,
            tokens=tokens,
            base_url=f"//{host}",  # The scheme is that of the request.
        )


def _is_own_folder(folder: Path) -> bool:
    """Return False for a symbolic link, too, whose target may be outside of the root."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise Unavailable(_CANNOT_BE_USED_TEXT) from error
