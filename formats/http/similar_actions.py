"""The page of bookmarks with similar addresses, and the form that merges them."""

from collections.abc import Sequence

from webob import Request

from formats.html.changed_bookmarks import ChangedBookmarks
from formats.html.editor import shown_version
from formats.html.refused_form import write_not_done
from formats.html.similar import MAX_MEMBERS_SHOWN, write_similar
from formats.http.form_handler import Fields, form_handler, respond_page
from formats.http.list_actions import respond_changed
from formats.http.response import Response
from formats.http.routing import Service
from storage import bookmark as rules
from storage.errors import Malformed
from storage.index import Entry
from storage.query import Query
from storage.similar import find_similar
from storage.transaction import Transaction


def show_similar(service: Service, request: Request) -> Response:
    """GET /-/similar: the groups of bookmarks with similar addresses."""
    newest_first = service.store.select(Query()).entries
    groups = find_similar(reversed(newest_first))
    return respond_page(write_similar(groups, service.site(request)))


@form_handler(write_not_done)
def keep(service: Service, request: Request, fields: Fields, bookmark: str) -> Response:
    """POST /-/keep/{id}: delete similar bookmarks, and add their tags to this bookmark.

    Changes nothing if one of the bookmarks has changed since the page was made.
    """
    other_ids = set(fields.get("others", "").split()) - {bookmark}
    if not 0 < len(other_ids) < MAX_MEMBERS_SHOWN:
        raise Malformed(f"The form must name 1 to {MAX_MEMBERS_SHOWN - 1} other bookmarks.")
    shown_versions = set(fields.get("_shown", "").split())
    changes = ChangedBookmarks(
        is_deletion=True, can_be_restored=service.store.trash.keep_deleted != 0
    )
    with service.store.transaction() as transaction:
        kept = transaction.get(bookmark)
        others = [transaction.get(id) for id in sorted(other_ids)]
        entries = [kept, *others]
        newer = [entry for entry in entries if shown_version(entry) not in shown_versions]
        if newer:
            changes.changed_meanwhile = newer
        else:
            _merge(transaction, kept, others)
            changes.done = [entry.bookmark for entry in others]
    return respond_changed(request, changes, service.site(request), list_query=None)


def _merge(transaction: Transaction, kept: Entry, others: Sequence[Entry]) -> None:
    tags = list(kept.bookmark.tags)
    for entry in others:
        tags += entry.bookmark.tags
        transaction.delete(entry)
    fields = rules.clean({"tags": tags})
    transaction.put(rules.update(kept.bookmark, fields), kept)
