"""The forms that change the tags of a list, and those that rename, merge and delete tags."""

from collections.abc import Sequence
from typing import Any

from webob import Request

from formats.form import fields_by_name
from formats.html import MEDIA_TYPE as HTML
from formats.html.retag import write_retagging_refused
from formats.html.tags import write_question, write_tags_refused
from formats.html.view import retagged_address, with_query
from formats.http import problems
from formats.http.request import read_form
from formats.http.response import Response, respond_with, see_other
from formats.http.routing import Service
from storage.bookmark import clean, fold_tag
from storage.errors import Invalid
from storage.index import Entry
from storage.query import Query, fold_tags
from storage.retag import Retagging, clean_retagging, retag


def change_tags(service: Service, request: Request) -> Response:
    """POST /-/retag: change the tags of a list, and show it with the numbers of changes."""
    fields, site = fields_by_name(read_form(request)), service.site(request)
    entries: Sequence[Entry] = ()
    try:
        retagging = clean_retagging({n: v for n, v in fields.items() if n != "_list"})
        entries = service.store.select(retagging.query).entries
        retagging.require_expected(len(entries))
        report = retag(service.store, retagging, entries)
    except Exception as error:
        problem = problems.problem_of(request, error, site)
        if entries:  # The form then agrees to change this number of bookmarks.
            fields["expected"] = str(len(entries))
        page = write_retagging_refused(fields, problem, site)
        return respond_with(HTML, page.encode(), problem.status_line)
    return see_other(retagged_address(site, fields, retagging, report))


def rename_tags(service: Service, request: Request) -> Response:
    """POST /-/tags: rename tags, or merge them into others, or delete them from all bookmarks.

    Unless the form has the number of all bookmarks that have the tags or the new ones, ask first.
    """
    fields: dict[str, Any] = fields_by_name(read_form(request))
    site = service.site(request)
    try:
        old, new = _clean_tags(fields)
        counts = [(tag, _count(service, tag)) for tag in old]
        existing = [(tag, _count(service, tag)) for tag in new if not _has(old, tag)]
        existing = [(tag, count) for tag, count in existing if count]
        total = sum(count for _, count in [*counts, *existing])
        if fields.get("expected") != str(total):
            fields["add"] = new
            page = write_question(fields, counts, existing, site)
            return respond_with(HTML, page.encode())
        changed = sum(_rename(service, tag, new) for tag in old)
    except Exception as error:
        problem = problems.problem_of(request, error, site)
        page = write_tags_refused(fields, problem, site)
        return respond_with(HTML, page.encode(), problem.status_line)
    parameters = [("changed", str(changed))]
    if not new:
        return see_other(with_query(f"{site.url}/tags", parameters))
    return see_other(with_query(f"{site.url}/", [("tag", new[0]), *parameters]))


def _clean_tags(fields: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the tags to replace and the new ones, none to delete them. Raises Invalid."""
    is_deletion = fields.get("do") == "delete"
    new = [] if is_deletion else clean({"tags": fields.get("add", [])})["tags"]
    if not fields.get("tag"):
        raise Invalid([("tag", "are missing: check some, then repeat this")])
    if not new and not is_deletion:
        raise Invalid([("add", "are missing: type one")])
    return fields["tag"], new


def _count(service: Service, tag: str) -> int:
    return service.store.select(Query(tags=fold_tags([tag]), limit=0)).total


def _has(tags: Sequence[str], tag: str) -> bool:
    return fold_tag(tag) in map(fold_tag, tags)


def _rename(service: Service, tag: str, new: Sequence[str]) -> int:
    """Put the new tags in the place of the tag on all its bookmarks; return how many changed."""
    query = Query(tags=fold_tags([tag]))
    retagging = Retagging(query, remove=(tag,), add=tuple(new))
    return retag(service.store, retagging, service.store.select(query).entries).changed
