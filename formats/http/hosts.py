"""Many data folders in one process: the folder `ROOT/{host}` for each host name."""

import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request

from formats.http import problems
from formats.http.access_log import HOST_VARIABLE
from formats.http.credentials import encode_tokens, parse_tokens, warn_of_readable_tokens
from formats.http.response import HTTPError, add_common_headers, send
from formats.http.security import AccessControl, host_name, requested_host
from formats.http.site import site_of
from storage import files
from storage.errors import Invalid, Unavailable

log = logging.getLogger("bookmarks")

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
        # no lock while it calls this, so no request waits for the folder of another host.
        @lru_cache(max_open)
        def app_of(host: str, tokens: _Tokens) -> WSGIApplication:
            own_tokens = encode_tokens(tokens) or access_control.tokens
            control = AccessControl(own_tokens, access_control.public_read, f"//{host}")
            control.warn_of_short_tokens()
            if tokens:
                with suppress(OSError):  # The file may have been removed since it was read.
                    warn_of_readable_tokens(f"{root / host}.tokens")
            return open_folder(root / host, control)

        self._app_of = app_of  # It does not refer to `self`, so reference counts free the folders.

    def open(self) -> None:
        """Do nothing: each folder is opened at its first request."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            host = environ[HOST_VARIABLE] = host_name(f"//{requested_host(request) or ''}")
            app = self._app_of(host, self._tokens(host))
        except Exception as error:
            site = site_of(request, None, has_login=False)
            problem = problems.problem_of(request, error, site)
            response = problems.respond_problem(request, problem, site)
            return send(request, add_common_headers(response, False, False), start_response)
        return app(environ, start_response)

    def _tokens(self, host: str) -> _Tokens:
        """Return the tokens of the host's folder, read again so that a removed one ends at once.

        Raises HTTPError if there is no folder. A link is none, because it could leave ROOT.
        """
        path = f"{self._root}/{host}"
        problem = "The folder of this host cannot be read"
        with files.translate_disk_errors(problem), suppress(FileNotFoundError):
            if _SERVED_HOST.fullmatch(host) and stat.S_ISDIR(os.lstat(path).st_mode):
                return _read_tokens(f"{path}.tokens")
        raise HTTPError(404, f"There are no bookmarks of the host {host!r} here.")


def _read_tokens(file: str) -> _Tokens:
    """Return the tokens in a file, None if it does not exist. Raises Unavailable."""
    try:
        return tuple(parse_tokens(files.read(file)[0], file))
    except FileNotFoundError:
        return None
    except (Invalid, files.BadFile) as error:
        log.error("The token file %s cannot be used: %s", file, error)
        raise Unavailable("The token file of this host cannot be used.") from error
