"""The addresses, the filter and the totals of a list."""

from collections.abc import Mapping, Sequence

import msgspec

from formats.base_url import BaseUrl, Parameters, with_query
from storage.index import Page
from storage.query import Query


class Listing(msgspec.Struct, frozen=True):
    """The context of a list of bookmarks.

    `page` is the result of the query; `address` that of the list itself; `filter` has the
    parameters tag and q that select the bookmarks; `links` maps first, prev, next and last to the
    addresses of the pages, if there are several; `offset` is the number of bookmarks before this
    page; `exports` has the names of the other formats.
    """

    page: Page
    base: BaseUrl = BaseUrl()
    address: str = ""
    filter: Parameters = []
    links: Mapping[str, str] = {}
    offset: int = 0
    exports: Sequence[str] = ()


def make_listing(
    page: Page, base: BaseUrl, path: str, parameters: Parameters, query: Query
) -> Listing:
    """Return the listing of a page that the list at this path shows for these parameters."""
    document = base.url + path
    words = " ".join(value for name, value in parameters if name == "q")
    tags = [pair for pair in parameters if pair[0] == "tag" and pair[1].strip()]
    filter = [*tags, *([("q", words)] if words else [])]
    count = max(page.total, page.tombstone_count if query.deletions else 0)
    links = _page_links(document, parameters, query, count)
    return Listing(page, base, with_query(document, parameters), filter, links, query.offset)


def _page_links(
    document: str, parameters: Parameters, query: Query, count: int
) -> dict[str, str]:
    """Return the addresses of the first, previous, next and last page (RFC 8288).

    A list on one page has none: each repeats the query, and proxies limit the length of headers.
    """
    limit, offset = query.limit, query.offset
    if not limit or (offset == 0 and count <= limit):
        return {}
    last = max(count - 1, 0) // limit * limit
    offsets = {"first": 0}
    if offset > 0:
        offsets["prev"] = max(min(offset, last + limit) - limit, 0)
    if offset + limit < count:
        offsets["next"] = offset + limit
    offsets["last"] = last
    others = [pair for pair in parameters if pair[0] not in ("limit", "offset")]
    page = f"{with_query(document, others)}{'&' if others else '?'}limit={limit}"
    return {relation: f"{page}&offset={start}" for relation, start in offsets.items()}
