"""Show the login page in place of a page that needs a login.

The fields of a form that was sent without a login, the pending fields, are sent again
after the login.
"""

import re
from contextlib import suppress
from urllib.parse import quote

from webob import Request

from formats.html import MEDIA_TYPE as HTML
from formats.html.login_page import write_login_page
from formats.http.request import MAX_BODY, read_form
from formats.http.response import HTTPError, Response, respond_with
from formats.listing import Parameters, Site
from storage.errors import Invalid, Malformed

LOGIN_PATH = "/-/login"
# The bytes of a login form: the pending fields, and the fields `token` and `next`.
MAX_LOGIN_FORM = MAX_BODY + 65_536
_TARGET = re.compile("/[!-~]*")  # A path and query that may stand in a header.
# Browsers take `//name` and `/\name` for another host.
_UNSAFE_BEGINNINGS = ("//", "/\\", LOGIN_PATH)
# Has `%`, because the query may be percent-encoded already.
_UNQUOTED_IN_QUERY = "!$&'()*+,/:;=?@~%[]"


def respond_login_page(request: Request, site: Site) -> Response:
    pending_fields = _read_pending_fields(request)
    target = _requested_page(request)
    if request.method == "POST" and not pending_fields:
        # There is no form to send again after the login.
        target = referring_page(request, site)
    return respond_with(HTML, write_login_page(site, target, pending_fields))


def _read_pending_fields(request: Request) -> Parameters:
    if request.method == "POST":
        with suppress(HTTPError, Malformed, Invalid):  # The body may not be a form.
            return read_form(request, MAX_LOGIN_FORM)
    return []


def check_target(target: str) -> str:
    """Return the path if it is that of a page of this service, otherwise `/`."""
    if not _TARGET.fullmatch(target) or target.startswith(_UNSAFE_BEGINNINGS):
        return "/"
    return target


def referring_page(request: Request, site: Site) -> str:
    """Return the path of the page that the user came from, or `/`."""
    referrer = request.environ.get("HTTP_REFERER", "")
    return check_target(referrer.removeprefix(site.url))


def _requested_page(request: Request) -> str:
    path = _quote_variable(request, "PATH_INFO", "/") or "/"
    query = _quote_variable(request, "QUERY_STRING", _UNQUOTED_IN_QUERY)
    if not query:
        return path
    return f"{path}?{query}"


def _quote_variable(request: Request, name: str, safe: str) -> str:
    # WSGI has decoded the bytes as Latin-1.
    return quote(request.environ.get(name, "").encode("latin-1"), safe)
