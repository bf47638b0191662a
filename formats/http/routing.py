"""Find the handler for the path and the method of a request.

The interfaces for programs, for people and for linkding's clients are a Router each.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

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

NOTHING_HERE = "There is nothing at this address."
# The patterns of the variables of path templates, except {field}.
_PATTERNS = {
    "id": ID.pattern,
    "bookmark": ID.pattern,
    "button": "delete|read|unread",  # In the pages' /-/{button}/{bookmark}.
    "file": FILE_NAME,
    "other": "[^/]+",
    "number": "[0-9]{1,10}",  # An id in linkding's API, a number of 31 bits.
    "verb": "archive|unarchive",  # In linkding's /api/bookmarks/{number}/{verb}/.
}


@dataclass
class Service:
    """What every handler gets: one object for the owner, one for visitors without a token."""

    folder: Path  # The data folder.
    access_control: AccessControl
    configured_site: Site | None  # If None, each request names the address.
    open_caches: Callable[[], Caches]
    is_visitor: bool
    _caches: Caches | None = None

    @property
    def cache(self) -> ResponseCache:
        """The cache of responses, opened with its store at the first use."""
        # In Python 3.11, all objects share the lock of a `cached_property`: opening the
        # folder of one host would delay all hosts.
        if self._caches is None:
            self._caches = self.open_caches()
        if self.is_visitor:
            return self._caches.visitors
        return self._caches.owner

    @property
    def store(self) -> Store:
        """The store; for visitors a `Reader` of the public bookmarks."""
        return cast(Store, self.cache.store)

    def site(self, request: Request) -> Site:
        """Return the address of the service, and what all its pages show."""
        address = self.configured_site or requested_site(request)
        has_login = bool(self.access_control.tokens)
        if self.is_visitor:
            return Site(address.url, address.path, has_login, is_visitor=True)
        return Site(
            url=address.url,
            path=address.path,
            has_login=has_login,
            count_unread=self._count_unread,
            host_tags=self._host_tags,
        )

    def view(self, request: Request, parameters: Parameters = []) -> View:
        return View(self.site(request), parameters)

    def _host_tags(self, uri: str) -> Sequence[str]:
        return self.store.host_tags(uri)

    def _count_unread(self) -> int:
        """Return the number of unread bookmarks, or the last known one.

        The refresh is skipped where it is slow. An error here would lose what the user
        has typed into a form.
        """
        with suppress(StorageError):
            if not self.store.lacks_inotify():
                self.store.refresh()
        return self.store.count(UNREAD)


@dataclass(frozen=True)
class Route:
    """A path template such as `/{id}/{field}`, with handlers by method."""

    template: str
    handlers: Mapping[str, Callable[..., Response]]
    fields: Sequence[str] = ()  # The values that {field} in the template matches.

    @functools.cached_property
    def allow(self) -> str:
        """The value of the header Allow (RFC 9110 section 10.2.1)."""
        methods = {*self.handlers, "OPTIONS"}
        if "GET" in methods:  # The handler of GET serves HEAD, too.
            methods.add("HEAD")
        return ", ".join(sorted(methods))

    def match(self, path: str) -> dict[str, str] | None:
        """Return the values of the template's variables, or None for another path."""
        if match := self._pattern.fullmatch(path):
            return match.groupdict()
        return None

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern = re.escape(self.template)
        patterns = {**_PATTERNS, "field": "|".join(self.fields)}
        for name, value in patterns.items():
            variable = re.escape(f"{{{name}}}")
            pattern = pattern.replace(variable, f"(?P<{name}>{value})")
        return re.compile(pattern)


@dataclass(frozen=True)
class Router:
    """One interface of the service."""

    paths: re.Pattern[str]  # Matches the beginnings of its paths.
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
        if "id" in arguments:  # For a deleted bookmark, 410 and not 404 or 405.
            service.store.raise_if_deleted(arguments["id"])
        if not route.handlers:
            raise HTTPError(404, NOTHING_HERE)
        if method == "OPTIONS":
            return Response(NO_CONTENT, {"Allow": route.allow})
        detail = f"This path has no method {method}."
        raise HTTPError(405, detail, Allow=route.allow)

    def _find(self, path: str) -> tuple[Route, dict[str, str]]:
        """Return the first route that matches, and the values of its variables."""
        for route in self.routes:
            arguments = route.match(path)
            if arguments is not None:
                return route, arguments
        raise HTTPError(404, NOTHING_HERE)


def path_of(request: Request) -> str:
    """Return the path below the service, decoded as Latin-1, because it may not be UTF-8."""
    return request.environ.get("PATH_INFO") or "/"
