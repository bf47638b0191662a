"""Routes: path templates with the handler of each method."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from formats.http.response import Response
from storage.bookmark import ID

# A file name has a dot, so that it can be no id.
_FILE = r"[a-z]+-[0-9a-f]+\.[a-z]+"


@dataclass(frozen=True)
class Route:
    """A path template, its handlers by method, and the values that its {field} may have."""

    template: str
    methods: Mapping[str, Callable[..., Response]]
    fields: Sequence[str] = ()

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
        values = {"id": ID.pattern, "field": "|".join(self.fields), "file": _FILE}
        return re.compile(
            re.sub(
                r"\\{([a-z]+)\\}",
                lambda variable: f"(?P<{variable[1]}>{values[variable[1]]})",
                re.escape(self.template),
            )
        )


def find_route(routes: Sequence[Route], path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the route of a path with the values of its variables, None without a route."""
    for route in routes:
        if (values := route.match(path)) is not None:
            return route, values
    return None
