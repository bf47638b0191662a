"""Routes: path templates with a handler for each HTTP method."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from webob import Request

from formats.base_url import BaseUrl, Parameters
from formats.html.assets import FILE_NAME
from formats.http.problems import respond_problem
from formats.http.response import Response
from formats.http.security import AccessControl
from formats.problem import Problem
from storage.bookmark import ID
from storage.store import Store

# The regular expression of each variable of a path template, except {field}: see `Route.fields`.
_PATTERNS = {
    "id": ID.pattern,
    "file": FILE_NAME,
    "number": "[0-9]{1,10}",  # linkding's integer ids have 31 bits, so at most 10 digits.
    "verb": "archive|unarchive",  # In linkding's /api/bookmarks/{number}/{verb}/.
    # `/api/{rest}` is every unknown path of linkding's API. The pattern requires a slash in the
    # rest, because a path like /api/title is a field of the bookmark whose id is `api`.
    "rest": ".*/.*",
}


class Service(Protocol):
    """The application as handlers use it. They cannot import its module, which imports them."""

    store: Store
    access_control: AccessControl

    def base(self, request: Request) -> BaseUrl:
        """Return the address of the service for links in the response to this request."""

    def add_page(self, request: Request, parameters: Parameters) -> Response:
        """Respond with a form for the `uri` in `parameters`, to edit its bookmark or to add one."""


@dataclass(frozen=True)
class Route:
    """A path template such as `/{id}/{field}`, with a handler for each HTTP method.

    `respond_problem` makes the response to a request that fails. A route without `handlers`, such
    as the one for unknown paths below `/api/`, only serves to make a 404 with `respond_problem`.
    """

    template: str
    handlers: Mapping[str, Callable[..., Response]]
    fields: Sequence[str] = ()  # The values that {field} in the template matches.
    # The routes of linkding's API have another function here, because its problems look different.
    respond_problem: Callable[[Request, Problem, BaseUrl], Response] = respond_problem

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


def allow_of_server(routes: Sequence[Route]) -> str:
    """Return the value of Allow for the whole server: each method that at least one path has."""
    return ", ".join(sorted({method for route in routes for method in route.allow.split(", ")}))


def find_route(routes: Sequence[Route], path: str) -> tuple[Route | None, dict[str, str]]:
    """Return the first route that matches the path, or None, and the path's variables by name."""
    for route in routes:
        if (arguments := route.match(path)) is not None:
            return route, arguments
    return None, {}
