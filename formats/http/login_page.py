"""The response to a browser that has to log in first."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from webob import Request

from formats.base_url import BaseUrl, Parameters
from formats.errors import HTTPError, Malformed
from formats.html import MEDIA_TYPE as HTML
from formats.html.login import write_login_page
from formats.http.request import MAX_BODY, read_form
from formats.http.response import Response, respond_with
from storage.errors import Invalid

PATH = "/-/login"
MAX_OWN_FIELDS = 65_536  # The size of `token` and `next`, beside those of the pending form.
# Without a slash at its beginning, a path could extend the name of the host that precedes it in an
# address; with two slashes, it could name another host. The login page would redirect to itself.
_TARGET = re.compile(rf"/(?![/\\]|{PATH[1:]})[!-~]*")
_QUERY_CHARACTERS = "!$&'()*+,/:;=?@~%[]"


def respond_login_page(request: Request, base: BaseUrl, error: str) -> Response:
    """Return the login page in place of the page that the request asked for.

    The page keeps the form that the request sent as the pending form. If it was the login form, the
    page shows `error`.
    """
    try:
        fields = read_login_form(request) if request.method == "POST" else []
    except (HTTPError, Malformed, Invalid):
        fields = []
    if request.environ.get("PATH_INFO") == PATH:
        target, fields = split_login_form(fields)
        return respond_with(HTML, write_login_page(base, target, fields, error))
    return respond_with(HTML, write_login_page(base, _requested_page(request), fields))


def read_login_form(request: Request) -> Parameters:
    """Return the fields of a login form, those of the pending form among them.

    Raises HTTPError, Malformed or Invalid.
    """
    return read_form(request, MAX_BODY + MAX_OWN_FIELDS)


def split_login_form(fields: Parameters) -> tuple[str, Parameters]:
    """Return the target of a login form, and the fields of the pending form in it."""
    pending = [(name, value) for name, value in fields if name not in ("token", "next")]
    return check_target(dict(fields).get("next", "")), pending


def check_target(target: str) -> str:
    """Return the path to show after the login, that of all bookmarks if the path is unsafe."""
    return target if _TARGET.fullmatch(target) else "/"


def _requested_page(request: Request) -> str:
    """Return the path and query of the request, as a target."""
    environ: Mapping[str, str] = request.environ
    path = quote(environ.get("PATH_INFO", "").encode("latin-1")) or "/"
    query = quote(environ.get("QUERY_STRING", "").encode("latin-1"), safe=_QUERY_CHARACTERS)
    return f"{path}?{query}" if query else path
