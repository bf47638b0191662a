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

# The parameters with which the list shows what a form has changed.
_OUTCOMES = ("changed", "failed")


class Listing(msgspec.Struct, frozen=True):
    """The context of a list of bookmarks.

    `page` is the result of the query that `parameters` ask the list at `path` for; `filter` has
    the parameters tag and q that select the bookmarks; `links` maps first, prev, next and last to
    the addresses of the pages, if there are several; `offset` is the number of bookmarks before
    this page. The properties are what only some formats need.
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
        """The address of the list itself."""
        return with_query(self.base.url + self.path, self.parameters)

    @property
    def list_query(self) -> str:
        """What leads back to this page, see `list_address`."""
        return urlencode(_select_and_range(self.parameters))

    @property
    def changed(self) -> int | None:
        """The number of bookmarks whose tags a form has just changed, None without a form."""
        return _number(self.parameters, "changed")

    @property
    def failed(self) -> int:
        """The number of bookmarks whose tags a form could not change."""
        return _number(self.parameters, "failed") or 0


def make_listing(
    page: Page, base: BaseUrl, path: str, parameters: Parameters, query: Query
) -> Listing:
    """Return the listing of a page that the list at this path shows for these parameters."""
    words = " ".join(value for name, value in parameters if name == "q").strip()
    tags = [(name, tag.strip()) for name, tag in parameters if name == "tag" and tag.strip()]
    filter = [*tags, *([("q", words)] if words else [])]
    count = max(page.total, page.tombstone_count if query.deletions else 0)
    links = _page_links(base.url + path, parameters, query, count)
    return Listing(page, base, path, parameters, filter, links, query.offset)


def _number(parameters: Parameters, name: str) -> int | None:
    value = first_values(parameters).get(name, "")
    return int(value) if re.fullmatch("[0-9]{1,9}", value) else None


def address_after_saving(base: BaseUrl, id: str, hidden_fields: HiddenFields, is_new: bool) -> str:
    """Return the address that a form leads to when it has saved a bookmark.

    A form that puts a bookmark back, but finds its uri in use, leads to the bookmark that has it.
    """
    if hidden_fields.closes_window:
        return f"{base.bookmark(id)}?close=1"
    if hidden_fields.list_query is None or hidden_fields.version == DELETED_BOOKMARK and not is_new:
        return base.bookmark(id)
    return list_address(base.url, hidden_fields.list_query, id)


def list_address(base: str, list_query: str, id: str = "") -> str:
    """Return the address of the list that a link or a form leads back to, and there to a bookmark.

    `list_query` is the query of that list, which links and forms carry as `_list`. All parameters
    but those of its selection and range are ignored, so that it can lead to no other page.
    """
    fragment = f"#b-{id}" if id else ""
    return with_query(f"{base}/", _select_and_range(parse_qsl(list_query))) + fragment


def _select_and_range(parameters: Parameters) -> Parameters:
    return [pair for pair in parameters if pair[0] in ("tag", "q", "limit", "offset")]


def retagged_address(
    base: BaseUrl, selection: Mapping[str, Any], retagging: Retagging, report: RetagReport
) -> str:
    """Return the address of the list that shows what a form has changed.

    Its filter is the form's `selection`. A change that removes a tag of this filter is applied to
    the filter too: otherwise no changed bookmark would match it.
    """
    tags = [tag for tag in selection.get("tag", []) if tag.strip()]
    changed_tags = retagging.apply(tags)
    if set(tags) <= set(changed_tags):
        changed_tags = tags
    parameters = [("tag", tag) for tag in changed_tags]
    parameters += [("q", selection["q"])] if selection.get("q") else []
    parameters += [("changed", str(report.changed))]
    parameters += [("failed", str(len(report.failed)))] if report.failed else []
    return with_query(f"{base.url}/", parameters)


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
    others = [pair for pair in parameters if pair[0] not in ("limit", "offset", *_OUTCOMES)]
    page = f"{with_query(document, others)}{'&' if others else '?'}limit={limit}"
    return {relation: f"{page}&offset={start}" for relation, start in offsets.items()}
