"""Many data folders in one process: the folder `ROOT/{host}` for each host name."""

import re
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request

from formats.http import credentials, problems
from formats.http.access_log import HOST_VARIABLE
from formats.http.response import HTTPError, add_common_headers, send
from formats.http.security import AccessControl, host_name, requested_host
from formats.http.site import site_of
from storage import files
from storage.errors import Invalid, Unavailable

# Each open folder has one inotify instance, of which Linux allows a user 128 at first.
MAX_OPEN = 100
# The host names that are served, and so the names of folders: without a slash, and without a dot at
# the beginning. With the suffix `.tokens`, a name has at most the 255 bytes of a file's name.
_SERVED_HOST = re.compile("[a-z0-9][a-z0-9.-]{0,247}")
_Tokens = Sequence[str] | None
_OpenFolder = Callable[[Path, AccessControl], WSGIApplication]


class HostApplication:
    """The WSGI callable that serves the folder `root/{host}` for each host name.

    `open_folder` makes the application of a host from its folder and access control. At most
    `max_open` applications stay open between requests. The longest unused one beyond that is freed,
    with its index and inotify instance, as soon as no request refers to it: Python counts the
    references. `access_control` has the tokens of hosts without a token file.
    """

    def __init__(
        self, root: Path, open_folder: _OpenFolder, max_open: int, access_control: AccessControl
    ) -> None:
        self._root, self.access_control = root, access_control
        # The tokens are a part of the key, so changed ones open the folder again. `lru_cache` holds
        # no lock meanwhile, so no other host waits.
        self._app_of = lru_cache(max_open)(partial(_open, root, open_folder, access_control))

    def open(self) -> None:
        """Do nothing: each folder is opened at its first request."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            host = environ[HOST_VARIABLE] = host_name(f"//{requested_host(request) or ''}")
            app = self._app_of(host, _read_tokens(self._root, host))
        except Exception as error:
            site = site_of(request, None, has_login=False)
            problem = problems.problem_of(request, error, site)
            response = problems.respond_problem(request, problem, site)
            return send(request, add_common_headers(response, False, False), start_response)
        return app(environ, start_response)


def _open(
    root: Path, open_folder: _OpenFolder, default: AccessControl, host: str, tokens: _Tokens
) -> WSGIApplication:
    own_tokens = credentials.encode_tokens(tokens) or default.tokens
    control = AccessControl(own_tokens, default.public_read, f"//{host}")
    control.warn_of_short_tokens()
    credentials.warn_of_readable_tokens(f"{root / host}.tokens")
    return open_folder(root / host, control)


def _read_tokens(root: Path, host: str) -> _Tokens:
    """Return the tokens of the host's folder, None if it has no token file.

    They are read at each request, so that a removed token ends at once. Raises HTTPError if there
    is no folder. A link is none, because it could leave ROOT.
    """
    folder, file = root / host, root / f"{host}.tokens"
    is_served = _SERVED_HOST.fullmatch(host) and not files.is_missing(folder)
    try:
        if not is_served or not stat.S_ISDIR(folder.lstat().st_mode):
            raise HTTPError(404, f"There are no bookmarks of the host {host!r} here.")
        # Only a file that is surely missing gives the host the tokens of the service.
        return None if files.is_missing(file) else tuple(credentials.read_tokens(str(file)))
    except (Invalid, OSError) as error:
        raise Unavailable("The folder of this host or its token file cannot be used.") from error
