"""Routes and doors: which handler serves a path and a method, and how errors look there."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from webob import Request

from formats.html.assets import FILE_NAME
from formats.html.editor import UNREAD
from formats.http.response import NO_CONTENT, HTTPError, Response
from formats.http.security import AccessControl
from formats.http.site import requested_site
from formats.listing import Parameters, Site, View
from storage.bookmark import ID
from storage.errors import StorageError
from storage.store import Store

NOTHING_HERE = "There is nothing at this address."
# The regular expression of each variable of a path template, except {field}: see `Route.fields`.
_PATTERNS = {
    "id": ID.pattern,
    "bookmark": ID.pattern,
    "file": FILE_NAME,
    "other": "[^/]+",
    "number": "[0-9]{1,10}",  # linkding's integer ids have 31 bits, so at most 10 digits.
    "verb": "archive|unarchive",  # In linkding's /api/bookmarks/{number}/{verb}/.
}


@dataclass
class Service:
    """The store, the access control and the address of the service, for every handler."""

    store: Store
    access_control: AccessControl
    configured_site: Site | None

    def site(self, request: Request) -> Site:
        """Return the service's address, as it is configured or as the request names it."""
        site = self.configured_site or requested_site(request)
        has_login, host_tags = bool(self.access_control.tokens), self.store.host_tags
        return Site(site.url, site.path, has_login, self._count_unread, host_tags)

    def _count_unread(self) -> int:
        with suppress(StorageError):  # The page of an error must not raise another error.
            if not self.store.compares_each_time():
                self.store.refresh()
        return self.store.count(UNREAD)

    def view(self, request: Request, parameters: Parameters = []) -> View:
        """Return what the representations of a resource may show beside it."""
        return View(self.site(request), parameters)


@dataclass(frozen=True)
class Route:
    """A path template such as `/{id}/{field}`, with a handler for each HTTP method."""

    template: str
    handlers: Mapping[str, Callable[..., Response]]
    fields: Sequence[str] = ()  # The values that {field} in the template matches.

    @functools.cached_property
    def allow(self) -> str:
        """The value of the header Allow (RFC 9110 section 10.2.1)."""
        head = ["HEAD"] if "GET" in self.handlers else []  # The handler of GET serves HEAD, too.
        return ", ".join(sorted([*self.handlers, *head, "OPTIONS"]))

    def match(self, path: str) -> dict[str, str] | None:
        """Return the values of the template's variables, None if the path does not match."""
        match = self._pattern.fullmatch(path)
        return match and match.groupdict()

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        patterns = {**_PATTERNS, "field": "|".join(self.fields)}

        def named_group(variable: re.Match[str]) -> str:
            return f"(?P<{variable['name']}>{patterns[variable['name']]})"

        # `re.escape` has put a backslash before each brace of the template.
        return re.compile(re.sub(r"\\{(?P<name>[a-z]+)\\}", named_group, re.escape(self.template)))


@dataclass(frozen=True)
class Door:
    """One interface of the service: its paths, their handlers, and the shape of its errors."""

    paths: re.Pattern[str]  # Matches the beginning of each of its paths.
    routes: Sequence[Route]
    respond_problem: Callable[[Request, Exception, Site], Response]

    def _find(self, path: str) -> tuple[Route, dict[str, str]]:
        """Return the first route that matches, and the values of its variables."""
        for route in self.routes:
            if (arguments := route.match(path)) is not None:
                return route, arguments
        raise HTTPError(404, NOTHING_HERE)

    def respond(self, service: Service, request: Request) -> Response:
        """Return the response of the handler for the request's path and method."""
        route, arguments = self._find(path_of(request))
        method = "GET" if request.method == "HEAD" else request.method
        if handler := route.handlers.get(method):
            return handler(service, request, **arguments)
        if "id" in arguments:
            service.store.raise_if_deleted(arguments["id"])  # 410 comes before 404 and 405.
        if not route.handlers:
            raise HTTPError(404, NOTHING_HERE)
        if method == "OPTIONS":
            return Response(NO_CONTENT, {"Allow": route.allow})
        raise HTTPError(405, f"This path has no method {method}.", Allow=route.allow)


def path_of(request: Request) -> str:
    """Return the path of the request below the service, as WSGI has decoded it."""
    return request.environ.get("PATH_INFO") or "/"  # `request.path_info` fails if it is not UTF-8.
