"""Routes: path templates with the handler of each method."""

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

_VALUES = {
    "id": ID.pattern,
    "number": "[0-9]{1,10}",
    "verb": "archive|unarchive",
    "file": FILE_NAME,
    "rest": ".*/.*",  # It has a slash, so that it can be no field.
}


class Service(Protocol):
    """The application, as handlers in other modules use it."""

    store: Store
    access_control: AccessControl

    def base(self, request: Request) -> BaseUrl:
        """Return the service's address."""

    def add_page(self, request: Request, parameters: Parameters) -> Response:
        """Respond with the form of a new bookmark, or of the one with the uri in `parameters`."""


@dataclass(frozen=True)
class Route:
    """A path template, its handlers by method, and the values that its {field} may have.

    A path that matches a template without methods does not exist. `respond_problem` makes the
    responses to requests that fail.
    """

    template: str
    methods: Mapping[str, Callable[..., Response]]
    fields: Sequence[str] = ()
    respond_problem: Callable[[Request, Problem, BaseUrl], Response] = respond_problem

    @functools.cached_property
    def allow(self) -> str:
        """The value of Allow (RFC 9110 section 10.2.1)."""
        head = ["HEAD"] if "GET" in self.methods else []
        return ", ".join(sorted([*self.methods, *head, "OPTIONS"]))

    def match(self, path: str) -> dict[str, str] | None:
        """Return the values of the template's variables, None if the path does not match."""
        match = self._pattern.fullmatch(path)
        return match and match.groupdict()

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        values = {**_VALUES, "field": "|".join(self.fields)}
        return re.compile(
            re.sub(
                r"\\{([a-z]+)\\}",
                lambda variable: f"(?P<{variable[1]}>{values[variable[1]]})",
                re.escape(self.template),
            )
        )


def allow_anywhere(routes: Sequence[Route]) -> str:
    """Return the value of Allow with every method that some path has."""
    return ", ".join(sorted({method for route in routes for method in route.allow.split(", ")}))


def find_route(routes: Sequence[Route], path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the route of a path with the values of its variables, None without a route."""
    for route in routes:
        if (values := route.match(path)) is not None:
            return route, values
    return None
