"""The addresses, the filter and the totals of a list."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from formats.base_url import BaseUrl, Parameters, with_query
from formats.form import DELETED_BOOKMARK, HiddenFields
from storage.query import Query, first_values
from storage.retag import Retagging, RetagReport
from storage.store import Page

# After a form has changed the tags of bookmarks, it leads to a list with these parameters: how many
# bookmarks were changed, and how many could not be. The list shows the numbers in a notice.
_RETAGGING_NOTICE = ("changed", "failed")


class Listing(msgspec.Struct, frozen=True):
    """One page of a list of bookmarks, and its context, for the writers of all formats."""

    page: Page
    base: BaseUrl = BaseUrl()
    path: str = ""
    parameters: Parameters = []  # The whole query of the request for `path`.
    filter: Parameters = []  # Only the parameters tag and q, which select the bookmarks.
    # If the list has several pages: their addresses by the names first, prev, next and last.
    links: Mapping[str, str] = {}
    offset: int = 0  # The number of bookmarks before this page.

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
        """The number of bookmarks that a form has retagged; None if no form led to this list."""
        return _number(self.parameters, "changed")

    @property
    def failed_count(self) -> int:
        """The number of bookmarks whose tags the form that led to this list could not change."""
        return _number(self.parameters, "failed") or 0


def make_listing(
    page: Page, base: BaseUrl, path: str, parameters: Parameters, query: Query
) -> Listing:
    """Return the context of a page: the result of the query of a request for this path."""
    words = " ".join(value for name, value in parameters if name == "q").strip()
    tags = [(name, tag.strip()) for name, tag in parameters if name == "tag" and tag.strip()]
    filter = [*tags, *([("q", words)] if words else [])]
    # A page of the feed has a part of the bookmarks and a part of the deletions, both with the same
    # limit and offset. The longer list of the two decides how many pages there are.
    count = max(page.total, page.tombstone_count if query.deletions else 0)
    links = _page_links(base.url + path, parameters, query, count)
    return Listing(page, base, path, parameters, filter, links, query.offset)


def _number(parameters: Parameters, name: str) -> int | None:
    """Return the number in a parameter; None if it is absent, or if the user typed another text."""
    value = first_values(parameters).get(name, "")
    # At most 9 digits: int() would raise ValueError for a number of thousands of digits.
    return int(value) if re.fullmatch("[0-9]{1,9}", value) else None


def address_after_saving(base: BaseUrl, id: str, hidden_fields: HiddenFields, is_new: bool) -> str:
    """Return the address to which a form redirects the browser after saving the bookmark `id`.

    The address is that of the user's list, scrolled to the bookmark, or else that of the bookmark.
    """
    if hidden_fields.closes_window:  # The script of the page closes its window for `?close=1`.
        return f"{base.bookmark(id)}?close=1"
    # "Put it back" stores nothing if another bookmark has the uri of the deleted one by now. Show
    # the other bookmark, which is `id` then, so that the user sees why.
    was_not_put_back = hidden_fields.version == DELETED_BOOKMARK and not is_new
    if hidden_fields.list_query is None or was_not_put_back:
        return base.bookmark(id)
    return list_address(base.url, hidden_fields.list_query, id)


def list_address(base: str, list_query: str, id: str = "") -> str:
    """Return the address of the list with this query, scrolled to the bookmark `id` if given.

    Links and forms have `list_query` in `_list`, to lead back to the list. Only the parameters that
    select bookmarks and a range of them are kept: a forged `_list` cannot lead to another page.
    """
    fragment = f"#b-{id}" if id else ""  # In a list, the item of a bookmark has this id.
    return with_query(f"{base}/", _selection_and_range(parse_qsl(list_query))) + fragment


def _selection_and_range(parameters: Parameters) -> Parameters:
    """Return the parameters that select bookmarks and a range of them, without a notice."""
    names = ("tag", "q", "sort", "limit", "offset")
    return [(name, value) for name, value in parameters if name in names]


def retagged_address(
    base: BaseUrl, selection: Mapping[str, Any], retagging: Retagging, report: RetagReport
) -> str:
    """Return the address of the list that shows the bookmarks whose tags a form has changed.

    The form's `selection` has the filter of the list that the form was on.
    """
    filter_tags = [tag for tag in selection.get("tag", []) if tag.strip()]
    changed_filter_tags = retagging.apply(filter_tags)
    # After x is renamed to y, the list of the tag x would be empty: show the list of y. A filter
    # of which no tag was removed stays, because it still selects the changed bookmarks.
    if not set(filter_tags) <= set(changed_filter_tags):
        filter_tags = changed_filter_tags
    parameters = [("tag", tag) for tag in filter_tags]
    parameters += [("q", selection["q"])] if selection.get("q") else []
    parameters += [("changed", str(report.changed))]
    parameters += [("failed", str(len(report.failed)))] if report.failed else []
    return with_query(f"{base.url}/", parameters)


def _page_links(
    address: str, parameters: Parameters, query: Query, count: int
) -> dict[str, str]:
    """Return the addresses of the first, previous, next and last page, by link relation (RFC 8288).

    `address` is that of the list without a query. The result is empty if one page has all `count`
    items: the links would only make the headers longer, whose length proxies limit.
    """
    limit, offset = query.limit, query.offset
    if not limit or (offset == 0 and count <= limit):  # One page has all, or none.
        return {}
    last_offset = max(count - 1, 0) // limit * limit
    offsets = {"first": 0}
    if offset > 0:
        # For an offset beyond the end, the previous page is the last page.
        offsets["prev"] = max(min(offset - limit, last_offset), 0)
    if offset + limit < count:
        offsets["next"] = offset + limit
    offsets["last"] = last_offset
    # Each link has its own limit and offset. The parameters of a notice are for this page alone.
    dropped = ("limit", "offset", *_RETAGGING_NOTICE)
    others = [(name, value) for name, value in parameters if name not in dropped]
    beginning = f"{with_query(address, others)}{'&' if others else '?'}limit={limit}"
    return {relation: f"{beginning}&offset={offset}" for relation, offset in offsets.items()}
