"""The handlers of forms that change tags in a list or on all bookmarks."""

from collections.abc import Sequence

from webob import Request

from formats.html.refused_form import write_not_done
from formats.html.tags import write_question, write_removal_question
from formats.http.form_handler import (
    Fields,
    form_handler,
    respond_page,
    typed_tags,
)
from formats.http.problems import raise_if_unfinished
from formats.http.response import Response, see_other
from formats.http.routing import Service
from formats.listing import Site, list_address, with_query
from storage.bookmark import tags_without
from storage.errors import Invalid, Malformed
from storage.index import Entry
from storage.query import Query, fold_tags
from storage.retag import (
    Retagging,
    RetagReport,
    clean_retagging,
    replace_tags,
    retag,
    select_with_any,
)
from storage.store import Store


@form_handler(write_not_done)
def change_list(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/retag: add or remove tags on all bookmarks of a list, or ask before removing."""
    retagging = _read_retagging(fields)
    entries = service.store.select(retagging.query).entries
    # If the next line raises an error, `form_handler` shows the form again with this number.
    fields["expected"] = str(len(entries))
    retagging.require_expected(len(entries))
    site = service.site(request)
    if fields["do"] == "ask":
        entries = _with_any_tag(entries, retagging.remove)
        if entries:  # Else there is nothing to ask and nothing to change.
            count = len(entries)
            page = write_removal_question(fields, retagging.remove, count, site)
            return respond_page(page)
    report = retag(service.store, retagging, entries)
    raise_if_unfinished(report)
    address = list_address(site.url, fields.get("_list"), results=_results(report))
    return see_other(address)


def _read_retagging(fields: Fields) -> Retagging:
    values: Fields = {name: fields[name] for name in ("tag", "q", "expected") if name in fields}
    match fields.get("do"):
        case "add":
            values["add"] = typed_tags(fields)
        case "remove" | "ask":
            values["remove"] = typed_tags(fields)
        case _:
            raise Malformed("The form must say what to do: add or remove.")
    return clean_retagging(values)


def _with_any_tag(entries: Sequence[Entry], tags: Sequence[str]) -> list[Entry]:
    folded = set(fold_tags(tags))
    return [entry for entry in entries if not folded.isdisjoint(entry.tags)]


@form_handler(write_not_done)
def change_tags(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/tags: rename, merge or delete tags.

    Asks first, and again if the number of bookmarks with these tags has changed since.
    """
    site = service.site(request)
    new = _read_new_tags(fields)
    sent = [tag for tag in fields.get("tag", []) if tag.strip()]
    if not sent:
        raise Invalid([("No tag", "is checked: go back, and check some")])
    old = [tag for tag, _ in _count_bookmarks(service.store, sent)]
    if not old:
        return see_other(f"{site.url}/tags?changed=0")
    old_count = len(select_with_any(service.store, old))
    new_tags_in_use = _count_bookmarks(service.store, tags_without(new, old))
    expected_count = old_count + sum(count for _tag, count in new_tags_in_use)
    is_confirmed = fields.get("expected") == str(expected_count)
    if not is_confirmed:
        page = write_question(old, old_count, new, new_tags_in_use, expected_count, site)
        return respond_page(page)
    report = replace_tags(service.store, old, new)
    raise_if_unfinished(report)
    return see_other(_address_after(site, new, report))


def _address_after(site: Site, new: Sequence[str], report: RetagReport) -> str:
    """Return the address of the first new tag's list, or of the page of tags."""
    results = _results(report).items()
    if new:
        return with_query(f"{site.url}/", [("tag", new[0]), *results])
    return with_query(f"{site.url}/tags", [*results])


def _read_new_tags(fields: Fields) -> list[str]:
    if fields.get("do") == "delete":
        return []
    return typed_tags(fields, what_to_write="the new name")


def _count_bookmarks(store: Store, tags: Sequence[str]) -> list[tuple[str, int]]:
    """Return the number of bookmarks of each tag that has any."""
    counts = []
    for tag in tags:
        total = store.select(Query(fold_tags([tag]), limit=0)).total
        if total:
            counts.append((tag, total))
    return counts


def _results(report: RetagReport) -> dict[str, int]:
    results = {"changed": report.changed}
    if report.failed:
        results["failed"] = len(report.failed)
    return results
