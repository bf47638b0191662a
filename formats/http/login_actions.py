"""The handlers of `/-/login` and `/-/logout`."""

from webob import Request

from formats.html import MEDIA_TYPE as HTML
from formats.html.login_page import write_login_page, write_logout_page
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
    pending_fields,
    referring_page,
)
from formats.http.request import query_parameters, read_form
from formats.http.response import (
    TEMPORARY_REDIRECT,
    HTTPError,
    Response,
    respond_with,
    see_other,
)
from formats.http.routing import Service
from formats.http.security import BEARER
from formats.listing import Parameters, Site
from storage.query import first_values


def show_login(service: Service, request: Request) -> Response:
    """GET /-/login: the login form, or a button to log out."""
    _raise_404_without_tokens(service)
    site = service.site(request)
    cookies = request.environ.get("HTTP_COOKIE", "")
    if has_login(cookies, service.access_control.tokens):
        return respond_with(HTML, write_logout_page(site))
    requested = first_values(query_parameters(request)).get("next")
    if requested:
        target = check_target(requested)
    else:
        target = referring_page(request, site)
    return respond_with(HTML, write_login_page(site, target, pending_fields=[]))


def log_in(service: Service, request: Request) -> Response:
    """POST /-/login: set the login cookie if the token is valid."""
    _raise_404_without_tokens(service)
    site = service.site(request)
    fields = read_form(request, MAX_LOGIN_FORM)
    values = first_values(fields)
    pending = pending_fields(request, fields)
    target = check_target(values.get("next", ""))
    sent_token = values.get("token", "").strip().encode()
    token = find_token(sent_token, service.access_control.tokens)
    if token is None:
        service.access_control.failed_logins.log(client_address(request.environ))
        return _refuse_token(site, target, pending)
    response = see_other(site.url + target)
    if pending:
        response.status = TEMPORARY_REDIRECT  # Makes the browser send the fields again.
    response.headers["Set-Cookie"] = _cookie(request, site, make_login(token), LOGIN_SECONDS)
    return response


def _refuse_token(site: Site, target: str, pending: Parameters) -> Response:
    page = write_login_page(site, target, pending, "This token is wrong.")
    response = respond_with(HTML, page, "401 Unauthorized")
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
    # Chromium's Back button would show pages even with `no-store`.
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


def _raise_404_without_tokens(service: Service) -> None:
    if not service.access_control.tokens:
        raise HTTPError(404, "This service has no token, so nobody needs to log in.")


def _cookie(request: Request, site: Site, value: str, seconds: int) -> str:
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
