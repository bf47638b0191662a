"""Show the login page in place of a page that needs a login.

A form that was sent without a login has pending fields, which are sent again after the login.
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
LOGIN_FIELDS = ("token", "next")  # The login form also has the pending fields.
MAX_LOGIN_FORM = MAX_BODY + 65_536  # Bytes of pending fields, and of `token` and `next`.
_TARGET = re.compile("/[!-~]*")  # Printable ASCII.
# Browsers take `//name` and `/\name` for another host.
_UNSAFE_BEGINNINGS = ("//", "/\\", LOGIN_PATH)
# A `%` is not quoted, because the query may be encoded already.
_UNQUOTED_IN_QUERY = "!$&'()*+,/:;=?@~%[]"


def respond_login_page(request: Request, site: Site) -> Response:
    pending = _read_pending_fields(request)
    target = _requested_page(request)
    if request.method == "POST" and not pending:
        # The form cannot be sent again, so the login leads back to the page of the form.
        target = referring_page(request, site)
    return respond_with(HTML, write_login_page(site, target, pending))


def _read_pending_fields(request: Request) -> Parameters:
    is_form_of_page = request.method == "POST" and path_of(request).startswith("/-/")
    if is_form_of_page:
        # `read_form` raises Invalid for a file, so the user has to choose the file again.
        with suppress(HTTPError, Malformed, Invalid):
            return pending_fields(request, read_form(request, MAX_LOGIN_FORM))
    return []


def pending_fields(request: Request, fields: Parameters) -> Parameters:
    """Return the fields that are sent again after the login.

    Return none if a page of another site may have sent the form. Otherwise, the user's login would
    send the form again, and could delete bookmarks unseen.
    """
    if not is_sent_by_own_page(request):
        return []
    return without_login_fields(fields)


def without_login_fields(fields: Parameters) -> Parameters:
    """Remove the fields that the login page adds to a form."""
    return [(name, value) for name, value in fields if name not in LOGIN_FIELDS]


def check_target(target: str) -> str:
    """Return the target if it is a path of this service, otherwise `/`."""
    if not _TARGET.fullmatch(target) or target.startswith(_UNSAFE_BEGINNINGS):
        return "/"
    return target


def referring_page(request: Request, site: Site) -> str:
    """Return the path of the page that has sent the request, or `/` if it is unknown."""
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
