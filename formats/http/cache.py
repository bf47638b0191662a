"""Caches of responses."""

from collections.abc import Callable
from typing import NamedTuple

from webob import Request

from formats.http.conditional import CONDITION_VARIABLES
from formats.http.response import Response
from formats.http.site import ADDRESS_VARIABLES
from storage.reader import Reader
from storage.store import Store

# In bytes.
MAX_SIZE = 16 * 1024 * 1024
MAX_RESPONSE_SIZE = 256 * 1024
OVERHEAD = 2048  # What Python needs for a response without a body.

# The key needs no credentials, because the owner and visitors have separate caches.
_KEY_VARIABLES = (
    "PATH_INFO",
    "QUERY_STRING",
    "HTTP_ACCEPT",
    "HTTP_ACCEPT_ENCODING",
    "HTTP_IF_NONE_MATCH",
    *ADDRESS_VARIABLES,
)
_UNCACHED_VARIABLES = CONDITION_VARIABLES - {"HTTP_IF_NONE_MATCH"}
# Whether the service has tokens, and the values of _KEY_VARIABLES.
_Key = tuple[bool | str | None, ...]


class _Cached(NamedTuple):
    change_count: int
    response: Response


class ResponseCache:
    """Cache responses to GET and HEAD until the store changes."""

    def __init__(self, store: Reader) -> None:
        self.store = store
        self._responses: dict[_Key, _Cached] = {}
        self._added_bytes = 0  # Since the cache was last emptied.

    def get(
        self,
        request: Request,
        has_tokens: bool,
        make_response: Callable[[Request], Response],
    ) -> Response:
        """Return a cached or new response. Raises Unavailable."""
        key = _key(request, has_tokens)
        if key is None:
            return make_response(request)
        cached = self._responses.get(key)
        if cached and not self.store.has_changed(cached.change_count):
            return cached.response
        # Read the count first, so that a change of the store meanwhile makes the response stale.
        change_count = self.store.change_count
        response = make_response(request)
        self._add(key, _Cached(change_count, response))
        return response

    def _add(self, key: _Key, cached: _Cached) -> None:
        size = _size(key, cached.response)
        if size > MAX_RESPONSE_SIZE:
            return
        if self._added_bytes + size > MAX_SIZE:
            self._responses = {}
            self._added_bytes = 0
        self._responses[key] = cached
        self._added_bytes += size


class Caches(NamedTuple):
    owner: ResponseCache
    visitors: ResponseCache


def make_caches(store: Store) -> Caches:
    return Caches(ResponseCache(store), ResponseCache(store.for_visitors()))


def _key(request: Request, has_tokens: bool) -> _Key | None:
    """Return the key of a request, or None if its response must not be cached."""
    environ = request.environ
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return None
    if environ.get("PATH_INFO", "").startswith("/-/"):
        return None
    if not environ.keys().isdisjoint(_UNCACHED_VARIABLES):
        return None
    return (has_tokens, *map(environ.get, _KEY_VARIABLES))


def _size(key: _Key, response: Response) -> int:
    key_size = sum(len(value) for value in key if isinstance(value, str))
    headers_size = sum(len(value) for value in response.headers.values())
    return OVERHEAD + key_size + headers_size + len(response.body)
