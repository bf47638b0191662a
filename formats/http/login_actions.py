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
    """GET /-/login: the login form, or a button to log out."""
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
    """POST /-/login: set the login cookie if the token is valid.

    All fields but `token` and `next` are those of a form that was sent without a login.
    They are kept, to send it again.
    """
    _raise_404_without_tokens(service)
    site = service.site(request)
    login_form = {"token": "", "next": ""}
    pending_fields = []
    for name, value in read_form(request, MAX_LOGIN_FORM):
        if name in login_form:
            login_form[name] = value
        else:
            pending_fields.append((name, value))
    target = check_target(login_form["next"])
    sent_token = login_form["token"].strip().encode()
    token = find_token(sent_token, service.access_control.tokens)
    if token is None:
        service.access_control.failed_logins.log(client_address(request.environ))
        return _refuse_token(site, target, pending_fields)
    response = _respond_after_login(site, target, pending_fields)
    response.headers["Set-Cookie"] = _cookie(request, site, make_login(token), LOGIN_SECONDS)
    return response


def _respond_after_login(site: Site, target: str, pending_fields: Parameters) -> Response:
    if not pending_fields:
        return see_other(site.url + target)
    if target.startswith(_BOOKMARK_FORMS):
        response = see_other(site.url + target)
        response.status = "307 Temporary Redirect"  # The browser sends the form again.
        return response
    # Ask before sending another form, which may delete bookmarks.
    return respond_with(HTML, write_pending_form(site, target, pending_fields))


def _refuse_token(site: Site, target: str, pending_fields: Parameters) -> Response:
    page = write_login_page(site, target, pending_fields, "This token is wrong.")
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
