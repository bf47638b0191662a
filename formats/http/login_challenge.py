"""The login page, which a browser gets in place of a page that needs a login.

A pending form is one that a browser has sent without a login, perhaps after its login had ended.
Its fields are hidden fields of the login page, so that they can be sent again after the login.
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
# In bytes. A login form may contain all fields of a pending form, which MAX_BODY limits. Its own
# fields `token` and `next` may add this number of bytes.
MAX_TOKEN_AND_NEXT = 65_536
# A redirect leads to the service's address and the target, such as https://service/tags. A target
# without a slash could make it https://service.other.example. After `//` or `/\`, browsers expect
# the name of a host. The login page itself as a target would redirect without end.
_SAFE_TARGET = re.compile(rf"/(?![/\\]|{LOGIN_PATH[1:]})[!-~]*")
# In the query of a target, `quote` changes only other characters, such as `é`, which _SAFE_TARGET
# would refuse. `%` begins a character that the browser has quoted already.
_UNQUOTED_IN_QUERY = "!$&'()*+,/:;=?@~%[]"


def respond_login_page(request: Request, site: Site) -> Response:
    """Return the login page in place of the requested page; the caller sets the status.

    A form in the request becomes the pending form of the login page: the user sends it again after
    the login.
    """
    try:
        fields = read_form_at_login(request) if request.method == "POST" else []
    except (HTTPError, Malformed, Invalid):  # The body is no form, so there is nothing to keep.
        fields = []
    referrer = check_target(request.environ.get("HTTP_REFERER", "").removeprefix(site.url))
    # A form that is not kept cannot be sent again at its address.
    target = _requested_page(request) if fields or request.method != "POST" else referrer
    return respond_with(HTML, write_login_page(site, target, fields))


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
    return target if _SAFE_TARGET.fullmatch(target) else "/"


def _requested_page(request: Request) -> str:
    """Return the path and query of the request, to return to them after the login."""
    environ: Mapping[str, str] = request.environ
    # WSGI has decoded the bytes of the path and of the query as Latin-1.
    path = quote(environ.get("PATH_INFO", "").encode("latin-1")) or "/"
    query = quote(environ.get("QUERY_STRING", "").encode("latin-1"), safe=_UNQUOTED_IN_QUERY)
    return f"{path}?{query}" if query else path
