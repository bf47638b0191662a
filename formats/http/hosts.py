"""Many data folders in one process: the folder `ROOT/{host}` for each host name."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request

from formats.http import credentials, problems
from formats.http.access_log import HOST_VARIABLE
from formats.http.response import HTTPError, add_common_headers, send
from formats.http.security import AccessControl, host_name, requested_host
from formats.http.site import requested_site
from storage import files
from storage.errors import Invalid, Unavailable

# Each open folder has one inotify instance, of which Linux allows a user 128 at first.
MAX_OPEN = 100
# The host names that are served, and so the names of folders: without a slash, and without a dot at
# the beginning. With the suffix `.tokens`, a name has at most the 255 bytes of a file's name.
_SERVED_HOST = re.compile("[a-z0-9][a-z0-9.-]{0,247}")


@dataclass
class HostApplication:
    """The WSGI callable that serves the folder `root/{host}` for each host name.

    `application_of` takes a host and the tokens in its token file, None without this file, and
    returns the host's application. `access_control` has the tokens of hosts without a token file.
    """

    root: Path
    application_of: Callable[[str, Sequence[str] | None], WSGIApplication]
    access_control: AccessControl

    def open(self) -> None:
        """Do nothing: each folder is opened at its first request."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            host = environ[HOST_VARIABLE] = host_name(f"//{requested_host(request) or ''}")
            app = self.application_of(host, _read_tokens(self.root, host))
        except Exception as error:
            response = problems.respond_problem(request, error, requested_site(request))
            return send(request, add_common_headers(response, False, False), start_response)
        return app(environ, start_response)


def _read_tokens(root: Path, host: str) -> Sequence[str] | None:
    """Return the tokens of the host's folder, None if it has no token file.

    They are read at each request, so that a removed token ends at once. Raises HTTPError if there
    is no folder. A link is none, because it could leave ROOT.
    """
    folder, file = root / host, root / f"{host}.tokens"
    try:
        if not _SERVED_HOST.fullmatch(host) or folder.is_symlink() or not folder.is_dir():
            raise HTTPError(404, f"There are no bookmarks of the host {host!r} here.")
        # Only a file that is surely missing gives the host the tokens of the service.
        return None if files.is_missing(file) else tuple(credentials.read_tokens(str(file)))
    except (Invalid, OSError) as error:
        raise Unavailable("The folder of this host or its token file cannot be used.") from error
