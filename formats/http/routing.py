"""Find the handler for the path and the method of a request."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from msgspec.structs import replace
from webob import Request

from formats.html.assets import FILE_NAME
from formats.html.editor import UNREAD
from formats.http.cache import Caches, ResponseCache
from formats.http.response import NO_CONTENT, HTTPError, Response
from formats.http.security import AccessControl
from formats.http.site import requested_site
from formats.listing import Parameters, Site, View
from storage.bookmark import ID
from storage.errors import StorageError
from storage.store import Store

NOTHING_HERE_TEXT = "There is nothing at this address."
# Patterns of the variables in a path. Each route has its own pattern of {field}.
_PATTERNS = {
    "id": ID.pattern,
    "bookmark": ID.pattern,
    "button": "delete|read|unread",
    "file": FILE_NAME,
    "other": "[^/]+",
    "number": "[0-9]{1,10}",  # An id in linkding's API.
    "verb": "archive|unarchive",
}


@dataclass
class Service:
    """The service as handlers see it: one for the owner, and one for visitors."""

    folder: Path
    access_control: AccessControl
    configured_site: Site | None  # If None, the address is that of each request.
    open_caches: Callable[[], Caches]
    is_visitor: bool
    _caches: Caches | None = None

    @property
    def cache(self) -> ResponseCache:
        """The cache of responses, opened with its store at the first use."""
        # In Python 3.11, `cached_property` would lock all services.
        if self._caches is None:
            self._caches = self.open_caches()
        if self.is_visitor:
            return self._caches.visitors
        return self._caches.owner

    @property
    def store(self) -> Store:
        """The store. For visitors, it is only a `Reader` of the public bookmarks.

        Visitors reach no handler that needs more than a `Reader`.
        """
        return cast(Store, self.cache.store)

    def site(self, request: Request) -> Site:
        site = self.configured_site or requested_site(request)
        has_login = bool(self.access_control.tokens)
        if self.is_visitor:
            return replace(site, has_login=has_login, is_visitor=True)
        return replace(
            site,
            has_login=has_login,
            count_unread=self._count_unread,
            find_host_tags=self._find_host_tags,
        )

    def view(self, request: Request, parameters: Parameters = []) -> View:
        return View(self.site(request), parameters)

    def _count_unread(self) -> int:
        """Count when a page is written, so that the number includes all changes."""
        with suppress(StorageError):  # The page must be shown even if the store fails now.
            self.store.refresh()
        return self.store.count(UNREAD)

    def _find_host_tags(self, uri: str) -> Sequence[str]:
        return self.store.host_tags(uri)


@dataclass(frozen=True)
class Route:
    """A path template, such as `/{id}/{field}`, and its handlers by method."""

    template: str
    handlers: Mapping[str, Callable[..., Response]]
    fields: Sequence[str] = ()  # What {field} may be.

    @property
    def allow(self) -> str:
        methods = {*self.handlers, "OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))

    def match(self, path: str) -> dict[str, str] | None:
        if match := self._pattern.fullmatch(path):
            return match.groupdict()
        return None

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        patterns = {**_PATTERNS, "field": "|".join(self.fields)}
        groups = {name: f"(?P<{name}>{pattern})" for name, pattern in patterns.items()}
        escaped = self.template.replace(".", r"\.")
        return re.compile(escaped.format(**groups))


@dataclass(frozen=True)
class Router:
    """The routes and the error responses of one interface."""

    paths: re.Pattern[str]  # The beginnings of the paths.
    routes: Sequence[Route]
    respond_problem: Callable[[Request, Exception, Site], Response]

    def respond(self, service: Service, request: Request) -> Response:
        route, arguments = self._find(path_of(request))
        method = request.method
        if method == "HEAD":
            method = "GET"
        handler = route.handlers.get(method)
        if handler:
            return handler(service, request, **arguments)
        if "id" in arguments:  # A deleted bookmark is 410 for every method.
            service.store.raise_if_deleted(arguments["id"])
        if not route.handlers:
            raise HTTPError(404, NOTHING_HERE_TEXT)
        if method == "OPTIONS":
            return Response(NO_CONTENT, {"Allow": route.allow})
        detail = f"This path has no method {method}."
        raise HTTPError(405, detail, Allow=route.allow)

    def _find(self, path: str) -> tuple[Route, dict[str, str]]:
        for route in self.routes:
            arguments = route.match(path)
            if arguments is not None:
                return route, arguments
        raise HTTPError(404, NOTHING_HERE_TEXT)


def path_of(request: Request) -> str:
    """Return the path below the service's address, decoded as Latin-1."""
    return request.environ.get("PATH_INFO") or "/"
