"""The forms that change or delete the bookmarks of a list."""

from collections.abc import Sequence
from typing import NamedTuple

from webob import Request

from formats.html.changed_bookmarks import ChangedBookmarks, write_changed_bookmarks
from formats.html.editor import UNREAD, shown_version
from formats.html.refused_form import write_not_done
from formats.http.form_handler import Fields, form_handler, respond_page, typed_tags
from formats.http.response import OK, Response, see_other
from formats.http.routing import Service
from formats.listing import list_address
from storage import bookmark as rules
from storage.batch import Done, Failed, Outcome, change_in_batches
from storage.bookmark import Bookmark
from storage.errors import Invalid, Malformed, OutcomeUnknown, StorageError
from storage.index import Entry
from storage.query import Query
from storage.retag import Retagging
from storage.transaction import Transaction


@form_handler(write_not_done)
def change_selected(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/selected: change or delete the checked bookmarks."""
    ids = list(dict.fromkeys(fields.get("selected", ())))
    if not ids:
        raise Invalid([("Bookmarks", "are missing: check some in the list")])
    return _change(service, request, fields, ids, fields.get("do", ""))


@form_handler(write_not_done)
def delete(service: Service, request: Request, fields: Fields, bookmark: str) -> Response:
    """POST /-/delete/{id}: delete one bookmark."""
    return _change(service, request, fields, [bookmark], "delete")


@form_handler(write_not_done)
def mark_as_read(service: Service, request: Request, fields: Fields, bookmark: str) -> Response:
    """POST /-/read/{id}: remove the tag of unread bookmarks from one."""
    return _change(service, request, fields, [bookmark], "read")


@form_handler(write_not_done)
def mark_as_unread(service: Service, request: Request, fields: Fields, bookmark: str) -> Response:
    """POST /-/unread/{id}: add the tag of unread bookmarks to one."""
    return _change(service, request, fields, [bookmark], "unread")


def _change(
    service: Service, request: Request, fields: Fields, ids: Sequence[str], action: str
) -> Response:
    """Do what a button means to these bookmarks, but only to the versions that the page showed."""
    change = _Change(action, fields)
    is_kept = service.store.trash.keep_deleted != 0
    changes = ChangedBookmarks(change.is_deletion, is_kept)
    try:
        for outcome in change_in_batches(service.store, ids, change):
            change.count(outcome, changes)
    except OutcomeUnknown as error:
        changes.unknown_count = len(ids) - changes.count
        changes.unknown_reason = str(error)
    except StorageError as error:
        if not changes.done:
            raise
        left = len(ids) - changes.count
        changes.failed += [(None, error)] * left
    if not changes.unknown_count and changes.count == len(changes.failed):
        _, first_error = changes.failed[0]
        raise first_error
    site = service.site(request)
    list_query = fields.get("_list")
    if changes.is_deletion or not changes.is_complete:
        page = write_changed_bookmarks(changes, site, list_query)
        return respond_page(page, _status(changes))
    id = ""
    if len(ids) == 1:
        id = ids[0]
    return see_other(list_address(site.url, list_query, id, {"changed": len(changes.done)}))


def _status(changes: ChangedBookmarks) -> str:
    if changes.unknown_count:
        return "503 Service Unavailable"
    if changes.done:
        return OK
    return "412 Precondition Failed"


class _Change:
    """Change or delete a bookmark in a transaction, unless it is newer than the page showed."""

    def __init__(self, action: str, fields: Fields) -> None:
        self.is_deletion = action == "delete"
        self._retagging = _retagging(action, fields)
        self._shown = set(fields.get("_shown", "").split())
        self._found: dict[str, Bookmark] = {}

    def __call__(self, folder: Transaction, id: str) -> "_Found":
        entry = folder.get(id)
        self._found[id] = entry.bookmark
        if shown_version(entry) not in self._shown:
            return _Found(entry, is_newer=True)
        if self.is_deletion:
            folder.delete(entry)
        else:
            fields = rules.clean({"tags": self._retagging.apply(entry.bookmark.tags)})
            folder.put(rules.update(entry.bookmark, fields), entry)
        return _Found(entry, is_newer=False)

    def count(self, outcome: Outcome[str, "_Found"], changes: ChangedBookmarks) -> None:
        """Add the outcome of one bookmark to the changes."""
        match outcome:
            case Failed(id, error):
                changes.failed.append((self._found.get(id), error))
            case Done(_, _Found(entry, is_newer=True)):
                changes.newer.append(entry)
            case Done(_, _Found(entry)):
                changes.done.append(entry.bookmark)


class _Found(NamedTuple):
    entry: Entry  # As it was before the change.
    is_newer: bool  # Than the page showed: it was left alone.


def _retagging(action: str, fields: Fields) -> Retagging:
    """Return the change of tags that a button means, none for the button that deletes.

    Raises Malformed for no button, or Invalid.
    """
    match action:
        case "delete":
            return Retagging(Query())
        case "add":
            return Retagging(Query(), add=tuple(typed_tags(fields)))
        case "remove":
            return Retagging(Query(), remove=tuple(typed_tags(fields)))
        case "read":
            return Retagging(Query(), remove=(UNREAD,))
        case "unread":
            return Retagging(Query(), add=(UNREAD,))
    raise Malformed("The form must say what to do: add, remove, read, unread or delete.")
