"""Data that a page, a list or a feed shows beside its bookmarks: addresses, filter, totals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, urlencode

import msgspec

from storage.bookmark import MAX_TAGS, Bookmark, fold_tag
from storage.query import NEWEST_FIRST, Query, first_values
from storage.selection import Selection

Parameters = list[tuple[str, str]]

# The actions of a form on a number of bookmarks. The form leads to a list with this number in the
# parameter of this name.
RESULTS: Mapping[str, str] = {
    "changed": "changed",
    "failed": f"could not be changed: repeat the change, unless they have {MAX_TAGS} tags",
    "restored": "put back",
}


class Site(msgspec.Struct, frozen=True):
    """The service as its links and pages need it.

    `url` is the whole address without a slash at its end, such as `https://example.com/marks`;
    `path` only its path, `/marks`, for links that stay on the same host. With `has_login`, pages
    link to the page that logs in and out. `count_unread` returns the number of bookmarks to read
    later, `host_tags` the tags of other bookmarks whose uri has the same host.
    """

    url: str = ""
    path: str = ""
    has_login: bool = False
    count_unread: Callable[[], int] = int
    host_tags: Callable[[str], Sequence[str]] = lambda uri: ()

    def bookmark(self, id: str) -> str:
        """Return the address of a bookmark."""
        return f"{self.url}/{id}"


class View(msgspec.Struct, frozen=True):
    """What a writer may show beside its resource: the service, and the query of the request."""

    site: Site = Site()
    parameters: Parameters = []

    @property
    def values(self) -> dict[str, str]:
        """The first value of each parameter."""
        return first_values(self.parameters)


@dataclass
class Listing:
    """One page of a list of bookmarks, for the writers of all formats."""

    selection: Selection
    view: View = View()
    path: str = "/"

    @property
    def query(self) -> Query:
        """The query that the list answers."""
        return self.selection.query

    @property
    def site(self) -> Site:
        """The service as links and pages need it."""
        return self.view.site

    @property
    def bookmarks(self) -> Iterator[Bookmark]:
        """The bookmarks of this page."""
        return (entry.bookmark for entry in self.selection.entries)

    @cached_property
    def filter(self) -> Parameters:
        """The parameters tag and q, which select the bookmarks, without empty and repeated ones."""
        parameters = self.view.parameters
        words = " ".join(value for name, value in parameters if name == "q").strip()
        tags: dict[str, tuple[str, str]] = {}  # By folded tag.
        for tag in (value.strip() for name, value in parameters if name == "tag"):
            tags.setdefault(fold_tag(tag), ("tag", tag))
        tags.pop("", None)
        return [*tags.values(), *([("q", words)] if words else [])]

    @property
    def order(self) -> Parameters:
        """The parameter `sort`, if the list has another order than the usual one."""
        return [] if self.query.sort == NEWEST_FIRST else [("sort", self.query.sort)]

    @cached_property
    def links(self) -> Mapping[str, str]:
        """If the list has several pages: their addresses by link relation (RFC 8288).

        A page of the feed has a part of the bookmarks and a part of the deletions, both with the
        same limit and offset. The longer list of the two decides how many pages there are.
        """
        limit, offset = self.query.limit, self.query.offset
        count = max(self.selection.total, self.selection.tombstone_count)
        # Links to the only page would only make the headers longer, whose length proxies limit.
        if not limit or (offset == 0 and count <= limit):
            return {}
        last_offset = max(count - 1, 0) // limit * limit
        offsets = {"first": 0}
        if offset > 0:
            # For an offset beyond the end, the previous page is the last page.
            offsets["prev"] = max(min(offset - limit, last_offset), 0)
        if offset + limit < count:
            offsets["next"] = offset + limit
        offsets["last"] = last_offset
        # Each link has its own limit and offset. A notice is for this page alone.
        dropped = ("limit", "offset", *RESULTS)
        others = [(name, value) for name, value in self.view.parameters if name not in dropped]
        base = with_query(self.site.url + self.path, [*others, ("limit", str(limit))])
        return {relation: f"{base}&offset={offset}" for relation, offset in offsets.items()}

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a response with this page."""
        links = [f'<{url}>; rel="{relation}"' for relation, url in self.links.items()]
        total = {"X-Total-Count": str(self.selection.total)}
        return total | {"Link": ", ".join(links)} if links else total

    @property
    def list_query(self) -> str:
        """The query by which a link or a form leads back to this page, see `list_address`."""
        return urlencode(_selection_and_range(self.view.parameters))


def with_query(address: str, parameters: Sequence[tuple[str, str | int]]) -> str:
    """Return the address with these parameters as its query."""
    return f"{address}?{urlencode(parameters)}" if parameters else address


def list_address(
    base: str, list_query: str | None, id: str = "", results: Mapping[str, int] = {}
) -> str:
    """Return the address of the list with this query, scrolled to the bookmark `id` if given.

    `results` are numbers of RESULTS.

    Links and forms have `list_query` in `_list`, to lead back to the list. Only the parameters that
    select bookmarks and a range of them are kept: a forged `_list` cannot lead to another page.
    """
    fragment = f"#b-{id}" if id else ""  # In a list, the item of a bookmark has this id.
    parameters = _selection_and_range(parse_qsl(list_query or ""))
    parameters += [(name, str(number)) for name, number in results.items()]
    return with_query(f"{base}/", parameters) + fragment


def _selection_and_range(parameters: Parameters) -> Parameters:
    """Return the parameters that select bookmarks and a range of them, without a notice."""
    names = ("tag", "q", "sort", "limit", "offset")
    return [(name, value) for name, value in parameters if name in names]
