"""A cache of responses to GET, valid until the data folder changes."""

from collections.abc import Callable
from typing import NamedTuple

from webob import Request

from formats.http.conditional import CONDITION_VARIABLES
from formats.http.response import Response
from formats.http.site import ADDRESS_VARIABLES
from storage.errors import Unavailable
from storage.reader import Reader
from storage.store import Store

# In bytes.
MAX_SIZE = 16 * 1024 * 1024
MAX_RESPONSE_SIZE = 256 * 1024
OVERHEAD = 2048  # Of the Python objects of one response.

# Credentials are checked before each look into the cache.
_KEY_VARIABLES = (
    "PATH_INFO",
    "QUERY_STRING",
    "HTTP_ACCEPT",
    "HTTP_ACCEPT_ENCODING",
    "HTTP_IF_NONE_MATCH",
    *ADDRESS_VARIABLES,
)
# The outcome of dates depends on the clock.
_UNCACHED_VARIABLES = CONDITION_VARIABLES - {"HTTP_IF_NONE_MATCH"}
_Key = tuple[object, ...]


class _Cached(NamedTuple):
    change_count: int  # From before the response was made.
    response: Response


class ResponseCache:
    """Cache responses to GET and HEAD until the store changes.

    A cached one takes 6 µs; making one takes 14 for a bookmark, 700 for a page.
    """

    def __init__(self, store: Reader) -> None:
        self.store = store
        self._responses: dict[_Key, _Cached] = {}
        self._size = 0  # With replaced responses.

    def get(
        self, request: Request, has_tokens: bool, make: Callable[[Request], Response]
    ) -> Response:
        """Return the cached response, or what `make` returns."""
        key = _key(request, has_tokens)
        if key is None:
            return make(request)
        cached = self._responses.get(key)
        if cached and self._is_fresh(cached):
            return cached.response
        # The store may change meanwhile.
        change_count = self.store.change_count
        response = make(request)
        self._add(key, _Cached(change_count, response))
        return response

    def _is_fresh(self, cached: _Cached) -> bool:
        try:
            return cached.change_count == self.store.refresh()
        except Unavailable:  # `make` still serves style sheets.
            return False

    def _add(self, key: _Key, cached: _Cached) -> None:
        # Comparing all files would take longer than making a response.
        if self.store.compares_each_time():
            return
        key_size = sum(len(value) for value in key if isinstance(value, str))
        # Link may repeat the query four times.
        size = OVERHEAD + len(cached.response.body) + 5 * key_size
        if size > MAX_RESPONSE_SIZE:
            return
        if self._size + size > MAX_SIZE:
            self._responses = {}
            self._size = 0
        self._responses[key] = cached
        self._size += size


class Caches(NamedTuple):
    """The caches of a store, one for each view."""

    owner: ResponseCache
    visitors: ResponseCache


def make_caches(store: Store) -> Caches:
    return Caches(ResponseCache(store), ResponseCache(store.for_visitors()))


def _key(request: Request, has_tokens: bool) -> _Key | None:
    """Return what the response depends on, or None if it must not be cached."""
    environ = request.environ
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return None
    if environ.get("PATH_INFO", "").startswith("/-/"):
        return None
    if not environ.keys().isdisjoint(_UNCACHED_VARIABLES):
        return None
    return (has_tokens, *map(environ.get, _KEY_VARIABLES))
