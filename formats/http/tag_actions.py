"""The forms that change the tags of a list, and those that rename, merge and delete tags."""

from collections.abc import Sequence

from webob import Request

from formats.html.refused_form import write_not_done
from formats.html.tags import TagCounts, write_question
from formats.http.form_handler import Fields, form_handler, respond_page, typed_tags
from formats.http.response import Response, see_other
from formats.http.routing import Service
from formats.listing import list_address, with_query
from storage.bookmark import fold_tag
from storage.errors import Malformed
from storage.query import Query, fold_tags
from storage.retag import Retagging, RetagReport, clean_retagging, retag


@form_handler(write_not_done)
def change_list(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/retag: add or remove tags on all bookmarks of a list."""
    members = {name: fields[name] for name in fields if name in ("tag", "q", "expected")}
    if fields.get("do") not in ("add", "remove"):
        raise Malformed("The form must say what to do: add or remove.")
    members[fields["do"]] = typed_tags(fields)
    retagging = clean_retagging(members)
    entries = service.store.select(retagging.query).entries
    fields["expected"] = str(len(entries))  # If it is refused, the form comes back with it.
    retagging.require_expected(len(entries))
    report = retag(service.store, retagging, entries)
    url, list_query = service.site(request).url, fields.get("_list")
    return see_other(list_address(url, list_query, results=_results(report)))


@form_handler(write_not_done)
def change_tags(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/tags: rename tags, or merge them into others, or delete them from all bookmarks.

    Unless the form has the number of all bookmarks that have the tags or the new ones, ask first.
    """
    site, old = service.site(request), [tag for tag in fields.get("tag", []) if fold_tags([tag])]
    new = [] if fields.get("do") == "delete" else typed_tags(fields, "the new name")
    counts = _count(service, old)
    folded = set(map(fold_tag, old))
    existing = _count(service, [tag for tag in new if fold_tag(tag) not in folded])
    total = sum(count for _, count in [*counts, *existing])
    if fields.get("expected", "0") != str(total):
        return respond_page(write_question(counts, existing, new, site))
    results = _results(*[_rename(service, tag, new) for tag in old])
    address, tags = (f"{site.url}/", [("tag", new[0])]) if new else (f"{site.url}/tags", [])
    return see_other(with_query(address, [*tags, *results.items()]))


def _count(service: Service, tags: Sequence[str]) -> TagCounts:
    """Return the tags that bookmarks have, each with the number of these bookmarks."""
    pages = ((tag, service.store.select(Query(fold_tags([tag]), limit=0))) for tag in tags)
    return [(tag, page.total) for tag, page in pages if page.total]


def _rename(service: Service, tag: str, new: Sequence[str]) -> RetagReport:
    """Put the new tags in the place of the tag on all its bookmarks."""
    query = Query(fold_tags([tag]))
    retagging = Retagging(query, remove=(tag,), add=tuple(new))
    return retag(service.store, retagging, service.store.select(query).entries)


def _results(*reports: RetagReport) -> dict[str, int]:
    """Return the numbers of bookmarks that the notice of the list shows."""
    changed, failed = sum(r.changed for r in reports), sum(len(r.failed) for r in reports)
    return {"changed": changed, "failed": failed} if failed else {"changed": changed}
