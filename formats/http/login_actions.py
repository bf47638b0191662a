"""The handlers of `/-/login` and `/-/logout`."""

from webob import Request

from formats.html import MEDIA_TYPE as HTML
from formats.html.login_page import write_login_page, write_logout_page, write_pending_form
from formats.http.access_log import client_address
from formats.http.credentials import (
    LOGIN_COOKIE,
    LOGIN_SECONDS,
    find_token,
    has_login,
    make_login,
)
from formats.http.login_challenge import (
    LOGIN_PATH,
    MAX_LOGIN_FORM,
    check_target,
    referring_page,
)
from formats.http.request import query_parameters, read_form
from formats.http.response import HTTPError, Response, respond_with, see_other
from formats.http.routing import Service
from formats.http.security import BEARER
from formats.listing import Parameters, Site

_BOOKMARK_FORMS = ("/-/add", "/-/edit/")


def show_login(service: Service, request: Request) -> Response:
    """GET /-/login: the login form or, after a login, a button to log out."""
    _raise_404_without_tokens(service)
    site = service.site(request)
    if has_login(request.environ.get("HTTP_COOKIE", ""), service.access_control.tokens):
        return respond_with(HTML, write_logout_page(site))
    target = referring_page(request, site)
    requested = dict(query_parameters(request)).get("next")
    if requested:
        target = check_target(requested)
    return respond_with(HTML, write_login_page(site, target, pending_fields=[]))


def log_in(service: Service, request: Request) -> Response:
    """POST /-/login: set the login cookie if the token is valid, and show the requested page.

    If the user had sent a form without a login, the login form has its fields, too.
    """
    _raise_404_without_tokens(service)
    site = service.site(request)
    fields = read_form(request, MAX_LOGIN_FORM)
    values = dict(fields)
    target = check_target(values.get("next", ""))
    pending_fields = [pair for pair in fields if pair[0] not in ("token", "next")]
    sent = values.get("token", "").strip().encode()
    token = find_token(sent, service.access_control.tokens)
    if token is None:
        service.access_control.failed_logins.log(client_address(request.environ))
        return _refuse_token(site, target, pending_fields)
    response = _respond_after_login(site, target, pending_fields)
    response.headers["Set-Cookie"] = _cookie(request, site, make_login(token), LOGIN_SECONDS)
    return response


def _respond_after_login(site: Site, target: str, pending_fields: Parameters) -> Response:
    """Respond to what the user did before the login.

    - The user opened a page: redirect to it.
    - The user saved a bookmark: let the browser send the form to the target again.
    - The user sent another form, which may delete bookmarks: ask for confirmation.
    """
    if not pending_fields:
        return see_other(site.url + target)
    if target.startswith(_BOOKMARK_FORMS):
        response = see_other(site.url + target)
        response.status = "307 Temporary Redirect"  # 303 would not send the form.
        return response
    return respond_with(HTML, write_pending_form(site, target, pending_fields))


def _refuse_token(site: Site, target: str, pending_fields: Parameters) -> Response:
    page = write_login_page(site, target, pending_fields, "This token is wrong.")
    response = respond_with(HTML, page, "401 Unauthorized")
    # A 401 response needs a challenge.
    response.headers["WWW-Authenticate"] = BEARER
    return response


def log_out(service: Service, request: Request) -> Response:
    """POST /-/logout: clear the cookie."""
    site = service.site(request)
    target = LOGIN_PATH
    if service.access_control.public_read:
        target = "/"
    response = see_other(site.url + target)
    response.headers["Set-Cookie"] = _cookie(request, site, value="", seconds=0)
    # Otherwise Chromium's Back button would show pages, even with `no-store`.
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


def _raise_404_without_tokens(service: Service) -> None:
    if not service.access_control.tokens:
        raise HTTPError(404, "This service has no token, so nobody needs to log in.")


def _cookie(request: Request, site: Site, value: str, seconds: int) -> str:
    """Return Set-Cookie, which deletes the cookie if `seconds` is 0."""
    attributes = [
        f"{LOGIN_COOKIE}={value}",
        f"Path={site.path or '/'}",
        f"Max-Age={seconds}",
        "HttpOnly",
        "SameSite=Lax",
    ]
    if request.scheme == "https" or site.url.startswith("https:"):
        attributes.append("Secure")
    return "; ".join(attributes)
