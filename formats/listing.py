"""A list of bookmarks, with its parameters and links."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, urlencode

import msgspec

from storage.bookmark import MAX_TAGS, Bookmark, fold_tag
from storage.query import NEWEST_FIRST, UP_TO_18_DIGITS, Query, first_values
from storage.selection import Selection

Parameters = list[tuple[str, str]]

# Notices by query parameter: for `?changed=3`, the list says "3 bookmarks changed."
RESULTS: Mapping[str, str] = {
    "changed": "changed",
    "failed": f"could not be changed. Try again, unless they have {MAX_TAGS} tags already",
    "restored": "put back",
    "erased": "deleted for good",
}

_RANGE_PARAMETERS = ("limit", "offset")
FEED_PARAMETERS = ("tag", "q", "format", *_RANGE_PARAMETERS)
_LIST_PARAMETERS = ("tag", "q", "uri", "sort", "format")
_LIST_QUERY_PARAMETERS = ("tag", "q", "sort", *_RANGE_PARAMETERS)

# In each group of links of a page, repeated filters have at most this many characters for each
# bookmark.
_MAX_LINK_CHARACTERS_PER_BOOKMARK = 2_500
# A page repeats the filter in about this many links, such as those of the sort menu.
_USUAL_LINKS = 8


class Site(msgspec.Struct, frozen=True):
    """The service and the user of a request, for pages and links."""

    url: str = ""  # Such as `https://example.com/marks`.
    path: str = ""  # Such as `/marks`.
    has_login: bool = False
    is_visitor: bool = False
    # Returns the number of unread bookmarks, which the owner sees.
    count_unread: Callable[[], int] = lambda: 0
    # Returns the most used tags of bookmarks that have the same host as a uri.
    find_host_tags: Callable[[str], Sequence[str]] = lambda uri: ()

    def bookmark_url(self, id: str) -> str:
        return f"{self.url}/{id}"


class View(msgspec.Struct, frozen=True):
    """The service and the query of a request."""

    site: Site = Site()
    parameters: Parameters = []

    @property
    def values(self) -> dict[str, str]:
        """The first value of each parameter."""
        return first_values(self.parameters)


@dataclass
class Listing:
    """One page of a list of bookmarks."""

    selection: Selection
    view: View = View()
    path: str = "/"  # Such as `/feed`, below the path of the service.

    @property
    def query(self) -> Query:
        return self.selection.query

    @property
    def site(self) -> Site:
        return self.view.site

    @property
    def bookmarks(self) -> Iterator[Bookmark]:
        return (entry.bookmark for entry in self.selection.entries)

    @cached_property
    def filter(self) -> Parameters:
        """The parameters `tag` and `q`, without empty and repeated ones."""
        tag_by_folded_tag: dict[str, str] = {}
        words = []
        for name, value in self.view.parameters:
            tag = value.strip()
            if name == "q":
                words.append(value)
            elif name == "tag" and tag:
                tag_by_folded_tag.setdefault(fold_tag(tag), tag)
        filter = [("tag", tag) for tag in tag_by_folded_tag.values()]
        search = " ".join(words).strip()
        if search:
            filter.append(("q", search))
        return filter

    def can_repeat_filter(self, number_of_links: int) -> bool:
        """Return whether a page stays small if this many links repeat the filter."""
        number_of_bookmarks = max(len(self.selection.entries), 1)
        max_size = _MAX_LINK_CHARACTERS_PER_BOOKMARK * number_of_bookmarks
        return len(self._address_query) * number_of_links <= max_size

    @cached_property
    def has_long_filter(self) -> bool:
        """Whether the filter is too long to be repeated in the usual links of a page."""
        return not self.can_repeat_filter(_USUAL_LINKS)

    @property
    def linked_filter(self) -> Parameters:
        """The filter for the usual links, or nothing if it is too long."""
        if self.has_long_filter:
            return []
        return self.filter

    @property
    def order(self) -> Parameters:
        """The parameter `sort`, or nothing for the usual order."""
        if self.query.sort == NEWEST_FIRST:
            return []
        return [("sort", self.query.sort)]

    @cached_property
    def links(self) -> Mapping[str, str]:
        """Addresses of pages by link relation (RFC 8288)."""
        count = self.selection.total
        if self.path == "/feed":
            # A page of the feed has up to `limit` bookmarks and up to `limit` deletions.
            count = max(count, self.selection.tombstone_count)
        return links_to_pages(
            self.address_before_offset, self.query.offset, self.query.limit, count
        )

    @cached_property
    def address_before_offset(self) -> str:
        """An address such as `https://example.com/?limit=9&offset=`, without its offset."""
        parameters = known_parameters(self.view.parameters, _LIST_PARAMETERS)
        parameters.append(("limit", str(self.query.limit)))
        return before_offset(self.site.url + self.path, parameters)

    @property
    def headers(self) -> dict[str, str]:
        headers = {"X-Total-Count": str(self.selection.total)}
        links = [f'<{url}>; rel="{relation}"' for relation, url in self.links.items()]
        if links:
            headers["Link"] = ", ".join(links)
        return headers

    @property
    def address(self) -> str:
        address = self.site.url + self.path
        if self._address_query:
            address += f"?{self._address_query}"
        return address

    @cached_property
    def _address_query(self) -> str:
        names = (*_LIST_PARAMETERS, *_RANGE_PARAMETERS)
        return urlencode(known_parameters(self.view.parameters, names))

    @property
    def list_query(self) -> str:
        """The query for links back to this page, or "" if it is too long."""
        if self.has_long_filter:
            return ""
        return urlencode(known_parameters(self.view.parameters, _LIST_QUERY_PARAMETERS))


def before_offset(address: str, parameters: Sequence[tuple[str, str | int]]) -> str:
    """Return an address such as `/tags?q=x&offset=`, to be followed by an offset."""
    return with_query(address, [*parameters, ("offset", "")])


def links_to_pages(
    address_before_offset: str, offset: int, limit: int | None, count: int
) -> dict[str, str]:
    """Return the address of each linked page by relation, such as "next"."""
    if not limit or (offset == 0 and count <= limit):
        return {}
    last_page = max(count - 1, 0) // limit
    last_offset = last_page * limit
    links = {"first": f"{address_before_offset}0"}
    if offset > 0:
        previous_offset = max(offset - limit, 0)
        previous_offset = min(previous_offset, last_offset)  # `offset` may exceed `count`.
        links["prev"] = f"{address_before_offset}{previous_offset}"
    if offset + limit < count:
        links["next"] = f"{address_before_offset}{offset + limit}"
    links["last"] = f"{address_before_offset}{last_offset}"
    return links


def with_query(address: str, parameters: Sequence[tuple[str, str | int]]) -> str:
    if not parameters:
        return address
    return f"{address}?{urlencode(parameters)}"


def list_address(
    base: str, list_query: str | None, id: str = "", results: Mapping[str, int] = {}
) -> str:
    """Return the address of a list, scrolled to the bookmark `id`.

    `results` are shown above the list: `{"changed": 3}` as "3 bookmarks changed."
    """
    # Keep only known parameters: another site may have forged the query.
    parameters = known_parameters(parse_qsl(list_query or ""), _LIST_QUERY_PARAMETERS)
    for name, number in results.items():
        parameters.append((name, str(number)))
    address = with_query(f"{base}/", parameters)
    if id:
        address += f"#b-{id}"
    return address


def parse_number(text: str | None) -> int | None:
    """Return the number in a parameter, or None if it is missing or malformed."""
    if text is None or not UP_TO_18_DIGITS.fullmatch(text):
        return None
    return int(text)


def known_parameters(parameters: Parameters, names: Sequence[str]) -> Parameters:
    return [(name, value) for name, value in parameters if name in names]
