"""Show the login page in place of a page that needs a login.

Pending fields are those of a form sent without a login, to be sent again after it.
"""

import re
from contextlib import suppress
from urllib.parse import quote

from webob import Request

from formats.html import MEDIA_TYPE as HTML
from formats.html.login_page import write_login_page
from formats.http.request import MAX_BODY, read_form
from formats.http.response import HTTPError, Response, respond_with
from formats.http.routing import path_of
from formats.http.security import is_sent_by_own_page
from formats.listing import Parameters, Site
from storage.errors import Invalid, Malformed

LOGIN_PATH = "/-/login"
LOGIN_FIELDS = ("token", "next")  # Of the login form, which also has the pending fields.
MAX_LOGIN_FORM = MAX_BODY + 65_536  # Bytes of pending fields, and of `token` and `next`.
_TARGET = re.compile("/[!-~]*")  # Printable ASCII.
# Browsers take `//name` and `/\name` for another host.
_UNSAFE_BEGINNINGS = ("//", "/\\", LOGIN_PATH)
# With `%`, because the query may be encoded already.
_UNQUOTED_IN_QUERY = "!$&'()*+,/:;=?@~%[]"


def respond_login_page(request: Request, site: Site) -> Response:
    pending = _read_pending_fields(request)
    target = _requested_page(request)
    if request.method == "POST" and not pending:
        # No form can be sent again after the login, so return to the page with the form.
        target = referring_page(request, site)
    return respond_with(HTML, write_login_page(site, target, pending))


def _read_pending_fields(request: Request) -> Parameters:
    is_form_of_page = request.method == "POST" and path_of(request).startswith("/-/")
    if is_form_of_page:
        with suppress(HTTPError, Malformed, Invalid):  # Files cannot be kept.
            return pending_fields(request, read_form(request, MAX_LOGIN_FORM))
    return []


def pending_fields(request: Request, fields: Parameters) -> Parameters:
    """Return the fields that are sent again after the login.

    Old browsers do not name the page that has sent a form. It may be of another site, which
    must not make the user delete something by logging in.
    """
    if not is_sent_by_own_page(request):
        return []
    return without_login_fields(fields)


def without_login_fields(fields: Parameters) -> Parameters:
    """Return the fields of a form that may have been sent by the login page."""
    return [(name, value) for name, value in fields if name not in LOGIN_FIELDS]


def check_target(target: str) -> str:
    """Return the target if it is a path of this service, otherwise `/`."""
    if not _TARGET.fullmatch(target) or target.startswith(_UNSAFE_BEGINNINGS):
        return "/"
    return target


def referring_page(request: Request, site: Site) -> str:
    """Return the path of the page with the link or form, or `/`."""
    referrer = request.environ.get("HTTP_REFERER", "")
    return check_target(referrer.removeprefix(site.url))


def _requested_page(request: Request) -> str:
    path = _quote_variable(request, "PATH_INFO", "/") or "/"
    query = _quote_variable(request, "QUERY_STRING", _UNQUOTED_IN_QUERY)
    if not query:
        return path
    return f"{path}?{query}"


def _quote_variable(request: Request, name: str, safe: str) -> str:
    # WSGI variables are decoded as Latin-1.
    return quote(request.environ.get(name, "").encode("latin-1"), safe)
