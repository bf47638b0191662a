"""The addresses, the filter and the totals of a list."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from formats.base_url import BaseUrl, Parameters, with_query
from formats.form import DELETED_BOOKMARK, HiddenFields
from storage.index import Page
from storage.query import Query, first_values
from storage.retag import Retagging, RetagReport

# The parameters with the numbers of bookmarks whose tags a form has changed, or could not change.
# The form leads to a list with these parameters, which shows the numbers in a notice.
_RETAGGING_NOTICE = ("changed", "failed")


class Listing(msgspec.Struct, frozen=True):
    """One page of a list of bookmarks, and its context, for the writers of all formats.

    `parameters` are the query of the request for `path`, and `page` is the result. `filter` has
    only the parameters tag and q, which select the bookmarks. If the list has several pages,
    `links` maps first, prev, next and last to the addresses of these pages. `offset` is the number
    of bookmarks before this page.
    """

    page: Page
    base: BaseUrl = BaseUrl()
    path: str = ""
    parameters: Parameters = []
    filter: Parameters = []
    links: Mapping[str, str] = {}
    offset: int = 0

    @property
    def address(self) -> str:
        """The address of this page of the list."""
        return with_query(self.base.url + self.path, self.parameters)

    @property
    def list_query(self) -> str:
        """The query by which a link or a form leads back to this page, see `list_address`."""
        return urlencode(_selection_and_range(self.parameters))

    @property
    def retagged_count(self) -> int | None:
        """The number of bookmarks whose tags a form has just changed; None without a form."""
        return _number(self.parameters, "changed")

    @property
    def failed_count(self) -> int:
        """The number of bookmarks whose tags a form could not change."""
        return _number(self.parameters, "failed") or 0


def make_listing(
    page: Page, base: BaseUrl, path: str, parameters: Parameters, query: Query
) -> Listing:
    """Return the context of a page: the result of the query of a request for this path."""
    words = " ".join(value for name, value in parameters if name == "q").strip()
    tags = [(name, tag.strip()) for name, tag in parameters if name == "tag" and tag.strip()]
    filter = [*tags, *([("q", words)] if words else [])]
    # A page of the feed has the same range of two lists, the bookmarks and the deletions. The
    # longer list decides how many pages there are.
    count = max(page.total, page.tombstone_count if query.deletions else 0)
    links = _page_links(base.url + path, parameters, query, count)
    return Listing(page, base, path, parameters, filter, links, query.offset)


def _number(parameters: Parameters, name: str) -> int | None:
    """Return the number in a parameter; None if it is absent, or if the user typed another text."""
    value = first_values(parameters).get(name, "")
    # At most 9 digits: int() would raise ValueError for a number of thousands of digits.
    return int(value) if re.fullmatch("[0-9]{1,9}", value) else None


def address_after_saving(base: BaseUrl, id: str, hidden_fields: HiddenFields, is_new: bool) -> str:
    """Return the address that a form leads to when it has saved the bookmark `id`.

    A deleted bookmark is not put back if another bookmark, `id`, has its uri by now. The form then
    leads to that bookmark, not to a list, so that the user sees why nothing was put back.
    """
    if hidden_fields.closes_window:  # The script of the page closes its window for `?close=1`.
        return f"{base.bookmark(id)}?close=1"
    is_not_put_back = hidden_fields.version == DELETED_BOOKMARK and not is_new
    if hidden_fields.list_query is None or is_not_put_back:
        return base.bookmark(id)
    return list_address(base.url, hidden_fields.list_query, id)


def list_address(base: str, list_query: str, id: str = "") -> str:
    """Return the address of the list with this query, scrolled to the bookmark `id` if given.

    Links and forms have `list_query` in `_list`, to lead back to the list. Only the parameters that
    select bookmarks and a range of them are kept: a forged `_list` cannot lead to another page.
    """
    fragment = f"#b-{id}" if id else ""
    return with_query(f"{base}/", _selection_and_range(parse_qsl(list_query))) + fragment


def _selection_and_range(parameters: Parameters) -> Parameters:
    names = ("tag", "q", "limit", "offset")
    return [(name, value) for name, value in parameters if name in names]


def retagged_address(
    base: BaseUrl, selection: Mapping[str, Any], retagging: Retagging, report: RetagReport
) -> str:
    """Return the address of the list that shows what a form has changed.

    The list has the filter of the form, its `selection`. If the form removed a tag of the filter,
    no changed bookmark matches that filter, so the tags of the filter are changed in the same way.
    """
    tags = [tag for tag in selection.get("tag", []) if tag.strip()]
    filter_tags_afterwards = retagging.apply(tags)
    removes_filter_tag = not set(tags) <= set(filter_tags_afterwards)
    parameters = [("tag", tag) for tag in (filter_tags_afterwards if removes_filter_tag else tags)]
    parameters += [("q", selection["q"])] if selection.get("q") else []
    parameters += [("changed", str(report.changed))]
    parameters += [("failed", str(len(report.failed)))] if report.failed else []
    return with_query(f"{base.url}/", parameters)


def _page_links(
    address: str, parameters: Parameters, query: Query, count: int
) -> dict[str, str]:
    """Return the addresses of the first, previous, next and last page, by link relation (RFC 8288).

    `address` is that of the list without a query. The result is empty if one page has all `count`
    items: links in the headers repeat the query, and proxies limit the length of headers.
    """
    limit, offset = query.limit, query.offset
    if not limit or (offset == 0 and count <= limit):  # Without a limit, one page has all the rest.
        return {}
    last_offset = max(count - 1, 0) // limit * limit
    offsets = {"first": 0}
    if offset > 0:
        # For an offset beyond the end, the previous page is the last page.
        offsets["prev"] = max(min(offset - limit, last_offset), 0)
    if offset + limit < count:
        offsets["next"] = offset + limit
    offsets["last"] = last_offset
    # The user must not read the notice of a change of tags again on other pages.
    dropped = ("limit", "offset", *_RETAGGING_NOTICE)
    others = [(name, value) for name, value in parameters if name not in dropped]
    up_to_limit = f"{with_query(address, others)}{'&' if others else '?'}limit={limit}"
    return {relation: f"{up_to_limit}&offset={offset}" for relation, offset in offsets.items()}
