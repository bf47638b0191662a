"""The login page, which a browser gets in place of a page that needs a login.

A form sent without a login is a pending form: the login page has its fields, so that it can be sent
again after the login.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from webob import Request

from formats.html import MEDIA_TYPE as HTML
from formats.html.login_page import write_login_page
from formats.http.request import MAX_BODY, read_form
from formats.http.response import HTTPError, Response, respond_with
from formats.listing import Parameters, Site
from storage.errors import Invalid, Malformed

LOGIN_PATH = "/-/login"
# In bytes: of the fields `token` and `next` of a login form, beside those of a pending form.
MAX_TOKEN_AND_NEXT = 65_536
# A path and query without spaces, line breaks and other characters that a header cannot have.
_TARGET = re.compile("/[!-~]*")
# After `//` or `/\`, browsers expect the name of a host. The login page itself as a target would
# redirect without end.
_UNSAFE_BEGINNINGS = ("//", "/\\", LOGIN_PATH)
# In the query of a target, `quote` changes only other characters, such as `é`, which _TARGET would
# refuse. `%` begins a character that the browser has quoted already.
_UNQUOTED_IN_QUERY = "!$&'()*+,/:;=?@~%[]"


def respond_login_page(request: Request, site: Site) -> Response:
    """Return the login page in place of the requested page; the caller sets the status."""
    pending_fields: Parameters = []
    target = _requested_page(request)
    if request.method == "POST":
        pending_fields = _read_pending_form(request)
        if not pending_fields:  # Nothing can be sent again to this address.
            target = referring_page(request, site)
    return respond_with(HTML, write_login_page(site, target, pending_fields))


def _read_pending_form(request: Request) -> Parameters:
    try:
        return read_form_at_login(request)
    except (HTTPError, Malformed, Invalid):  # The body is no form, so there is nothing to keep.
        return []


def read_form_at_login(request: Request) -> Parameters:
    """Return the fields of a form sent without a login, or of a login form with a pending form.

    Raises HTTPError, Malformed or Invalid.
    """
    return read_form(request, MAX_BODY + MAX_TOKEN_AND_NEXT)


def split_login_form(fields: Parameters) -> tuple[str, Parameters]:
    """Return the target in a login form, and the fields of the pending form, to send again."""
    pending_fields = [(name, value) for name, value in fields if name not in ("token", "next")]
    return check_target(dict(fields).get("next", "")), pending_fields


def check_target(target: str) -> str:
    """Return the path to show after the login; for an unsafe path `/`, the list of bookmarks."""
    if not _TARGET.fullmatch(target) or target.startswith(_UNSAFE_BEGINNINGS):
        return "/"
    return target


def referring_page(request: Request, site: Site) -> str:
    """Return the path of the page of this service whose link or form made the request."""
    referrer = request.environ.get("HTTP_REFERER", "")
    return check_target(referrer.removeprefix(site.url))


def _requested_page(request: Request) -> str:
    """Return the path and query of the request, to return to them after the login."""
    environ: Mapping[str, str] = request.environ
    # WSGI has decoded the bytes of the path and of the query as Latin-1.
    path = quote(environ.get("PATH_INFO", "").encode("latin-1")) or "/"
    query = quote(environ.get("QUERY_STRING", "").encode("latin-1"), safe=_UNQUOTED_IN_QUERY)
    if not query:
        return path
    return f"{path}?{query}"
