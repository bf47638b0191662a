"""Many data folders in one process: the folder `ROOT/{host}` for each host name."""

import re
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request

from formats.http import credentials, problems
from formats.http.access_log import HOST_VARIABLE
from formats.http.response import HTTPError, add_common_headers, send
from formats.http.security import AccessControl, host_name, requested_host
from formats.http.site import requested_site
from storage import files
from storage.errors import StorageError, Unavailable

# Each open folder has one inotify instance, of which Linux allows a user 128 at first.
MAX_OPEN = 100
# The host names that are served, and so the names of folders: without a slash, and without a dot at
# the beginning. With the suffix `.tokens`, a name has at most the 255 bytes of a file's name.
_SERVED_HOST = re.compile("[a-z0-9][a-z0-9.-]{0,247}")


@dataclass
class HostApplication:
    """The WSGI callable that serves the folder `root/{host}` for each host name.

    `open_folder` returns the application of a folder. `access_control` has the tokens of hosts
    without a token file.
    """

    root: Path
    open_folder: Callable[[Path], Any]
    access_control: AccessControl

    def open(self) -> None:
        """Do nothing: each folder is opened at its first request."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            host = environ[HOST_VARIABLE] = host_name(f"//{requested_host(request) or ''}")
            app = self._application_of(host)
        except Exception as error:
            response = problems.respond_problem(request, error, requested_site(request))
            return send(request, add_common_headers(response, False, False), start_response)
        return app(environ, start_response)

    def _application_of(self, host: str) -> WSGIApplication:
        """Return the application of the host's folder, with the tokens of its token file, if any.

        The tokens are read at each request, so that a removed token ends at once. Raises HTTPError
        if there is no folder. A link is none, because it could leave ROOT.
        """
        folder, file = self.root / host, self.root / f"{host}.tokens"
        try:
            if not _SERVED_HOST.fullmatch(host) or folder.is_symlink() or not folder.is_dir():
                raise HTTPError(404, f"There are no bookmarks of the host {host!r} here.")
            # Only a file that is surely missing gives the host the tokens of the service.
            tokens = () if files.is_missing(file) else credentials.read_tokens(file)
            if files.is_missing(folder / "tombstones"):  # The host's folder may be made again.
                files.make_folder(folder / "bookmarks")
            # Threads that open a folder at once get an application each, of which one is kept.
            self.open_folder(folder)
            app = copy(self.open_folder(folder))
        except (StorageError, OSError) as error:
            raise Unavailable("The folder of this host or its tokens cannot be used.") from error
        default = self.access_control
        app.access_control = replace(default, tokens=tokens or default.tokens, base_url=f"//{host}")
        return app  # type: ignore[no-any-return]
