"""Logging in by a form, and out: the handlers of the paths below `/-/`."""

from urllib.parse import urlencode

from webob import Request

from formats.base_url import BaseUrl
from formats.errors import HTTPError
from formats.html import MEDIA_TYPE as HTML
from formats.html.login import write_login_page, write_pending_form
from formats.http.access_log import client_address
from formats.http.credentials import (
    COOKIE,
    LOGIN_OR_LOGOUT_BUTTON,
    LOGIN_SECONDS,
    find_token,
    make_login,
)
from formats.http.login_page import LOGIN_PATH, check_target, read_form_at_login, split_login_form
from formats.http.request import query_parameters
from formats.http.response import Response, respond_with, see_other
from formats.http.routing import Route, Service
from formats.http.security import BEARER


def show_login(service: Service, request: Request) -> Response:
    """GET /-/login: respond with the form, or redirect a browser that is logged in."""
    _raise_404_without_tokens(service)
    base = service.base(request)
    # Without `next`, return to the page whose link the user followed. `check_target` replaces the
    # address of another site.
    referrer = request.environ.get("HTTP_REFERER", "").removeprefix(base.url)
    target = check_target(dict(query_parameters(request)).get("next") or referrer)
    if request.environ.get(LOGIN_OR_LOGOUT_BUTTON) == "log-out":  # The browser is logged in.
        return see_other(base.url + target)
    # A form becomes pending only if a POST sends it without a login.
    return respond_with(HTML, write_login_page(base, target, pending_fields=[]))


def log_in(service: Service, request: Request) -> Response:
    """POST /-/login: set the cookie if the token is valid.

    The browser is redirected to the page that it asked for before the login. If the browser had
    sent a form without a login (the pending form), the response is a page with this form, so that
    the user can send it again.
    """
    _raise_404_without_tokens(service)
    fields = read_form_at_login(request)
    sent = dict(fields).get("token", "").strip().encode()
    if (token := find_token(sent, service.access_control.tokens)) is None:
        service.access_control.failed_logins.count_and_log(client_address(request.environ))
        # A 401 needs a challenge. For this one, no browser opens a password dialog.
        raise HTTPError(401, "This token is wrong.", WWW_Authenticate=BEARER)
    request.environ[LOGIN_OR_LOGOUT_BUTTON] = "log-out"  # The top of the page shows this button.
    base = service.base(request)
    target, pending_fields = split_login_form(fields)
    if pending_fields:  # The user has sent a form without a login, and can send it again now.
        response = respond_with(HTML, write_pending_form(base, target, pending_fields))
    else:
        # The script of a page shows "Saved." after exactly one redirect, as after the form of a
        # bookmark. So redirect to the login page, which then redirects to the target.
        response = see_other(f"{base.url}{LOGIN_PATH}?{urlencode({'next': target})}")
    response.headers.append(_cookie(request, base, make_login(token), LOGIN_SECONDS))
    return response


def log_out(service: Service, request: Request) -> Response:
    """POST /-/logout: clear the cookie."""
    base = service.base(request)
    can_read_without_login = service.access_control.public_read
    response = see_other(base.url + ("/" if can_read_without_login else LOGIN_PATH))
    response.headers.append(_cookie(request, base, value="", seconds=0))
    return response


ROUTES = (
    Route(LOGIN_PATH, {"GET": show_login, "POST": log_in}),
    Route("/-/logout", {"POST": log_out}),
)


def _raise_404_without_tokens(service: Service) -> None:
    if not service.access_control.tokens:
        raise HTTPError(404, "This service has no token, so nobody needs to log in.")


def _cookie(request: Request, base: BaseUrl, value: str, seconds: int) -> tuple[str, str]:
    """Return the header that sets the login cookie, or clears it with 0 seconds."""
    is_https = request.scheme == "https" or base.url.startswith("https:")
    cookie = f"{COOKIE}={value}; Path={base.path or '/'}; Max-Age={seconds}; HttpOnly; SameSite=Lax"
    return "Set-Cookie", cookie + ("; Secure" if is_https else "")
