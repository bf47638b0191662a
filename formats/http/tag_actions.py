"""The handlers of forms that change tags in a list or on all bookmarks."""

from collections.abc import Sequence

from webob import Request

from formats.html.refused_form import write_not_done
from formats.html.tags import write_question, write_removal_question
from formats.http.form_handler import Fields, form_handler, respond_page, typed_tags
from formats.http.response import Response, see_other
from formats.http.routing import Service
from formats.listing import list_address, with_query
from storage.bookmark import fold_tag
from storage.errors import Malformed
from storage.query import Query, fold_tags
from storage.retag import Retagging, RetagReport, clean_retagging, replace_tag, retag
from storage.selection import TagCounts


@form_handler(write_not_done)
def change_list(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/retag: add or remove tags on all bookmarks of a list, or ask before removing."""
    retagging = _read_retagging(fields)
    entries = service.store.select(retagging.query).entries
    # If another number was expected, the form is shown again with this number.
    fields["expected"] = str(len(entries))
    retagging.require_expected(len(entries))
    site = service.site(request)
    if fields["do"] == "ask":
        removed = set(fold_tags(retagging.remove))
        count = sum(not removed.isdisjoint(entry.tags) for entry in entries)
        page = write_removal_question(fields, retagging.remove, count, site)
        return respond_page(page)
    report = retag(service.store, retagging, entries)
    address = list_address(site.url, fields.get("_list"), results=_results(report))
    return see_other(address)


def _read_retagging(fields: Fields) -> Retagging:
    members: Fields = {name: fields[name] for name in ("tag", "q", "expected") if name in fields}
    match fields.get("do"):
        case "add":
            members["add"] = typed_tags(fields)
        case "remove" | "ask":
            members["remove"] = typed_tags(fields)
        case _:
            raise Malformed("The form must say what to do: add or remove.")
    return clean_retagging(members)


@form_handler(write_not_done)
def change_tags(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/tags: rename, merge or delete tags.

    `expected` is the number of bookmarks that the user has seen. Ask again if it is
    another one now.
    """
    site = service.site(request)
    # Without blank tags.
    old = [tag for tag in fields.get("tag", []) if fold_tags([tag])]
    new: list[str] = []
    if fields.get("do") != "delete":
        new = typed_tags(fields, what_to_write="the new name")
    old_counts = _count(service, old)
    new_counts = _count(service, _without(new, old))
    total = sum(count for _tag, count in [*old_counts, *new_counts])
    is_confirmed = fields.get("expected", "0") == str(total)
    if old_counts and not is_confirmed:
        return respond_page(write_question(old_counts, new_counts, new, total, site))
    report = RetagReport()
    for tag in old:
        replace_tag(service.store, tag, new, report)
    results = list(_results(report).items())
    if new:
        return see_other(with_query(f"{site.url}/", [("tag", new[0]), *results]))
    return see_other(with_query(f"{site.url}/tags", results))


def _without(tags: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the tags that are not among the others, ignoring case."""
    folded = {fold_tag(tag) for tag in others}
    return [tag for tag in tags if fold_tag(tag) not in folded]


def _count(service: Service, tags: Sequence[str]) -> TagCounts:
    """Return the tags that have bookmarks, with the numbers of bookmarks."""
    counts = []
    for tag in tags:
        page = service.store.select(Query(fold_tags([tag]), limit=0))
        if page.total:
            counts.append((tag, page.total))
    return counts


def _results(report: RetagReport) -> dict[str, int]:
    """Return the numbers of bookmarks that the notice of the list shows."""
    results = {"changed": report.changed}
    if report.failed:
        results["failed"] = len(report.failed)
    return results
