"""The handlers of forms that change or delete bookmarks of a list."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from webob import Request

from formats.html.changed_bookmarks import ChangedBookmarks, write_changed_bookmarks
from formats.html.editor import UNREAD, shown_version
from formats.html.refused_form import write_not_done
from formats.http.form_handler import Fields, form_handler, respond_page, typed_tags
from formats.http.response import OK, Response, see_other
from formats.http.routing import Service
from formats.listing import Site, list_address
from storage import bookmark as rules
from storage.batch import Failed, Outcome, change_in_batches
from storage.errors import (
    Gone,
    Invalid,
    Malformed,
    OutcomeUnknown,
    StorageError,
    Unreadable,
)
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
    """POST /-/read/{id}: remove the tag `unread` from one bookmark."""
    return _change(service, request, fields, [bookmark], "read")


@form_handler(write_not_done)
def mark_as_unread(service: Service, request: Request, fields: Fields, bookmark: str) -> Response:
    """POST /-/unread/{id}: add the tag `unread` to one bookmark."""
    return _change(service, request, fields, [bookmark], "unread")


def _change(
    service: Service, request: Request, fields: Fields, ids: Sequence[str], action: str
) -> Response:
    """Make the change of a form's button to these bookmarks, and respond with the results."""
    changes = ChangedBookmarks(
        is_deletion=action == "delete", is_kept=service.store.trash.keep_deleted != 0
    )
    change = functools.partial(
        _change_one,
        shown_versions=set(fields.get("_shown", "").split()),
        change=_change_of_button(action, fields),
    )
    try:
        for outcome in change_in_batches(service.store, ids, change):
            _add_outcome(changes, outcome)
    except OutcomeUnknown as error:
        changes.unknown_count = len(ids) - changes.count
        changes.unknown_reason = str(error)
    except StorageError as error:
        if not changes.done:
            raise
        left = len(ids) - changes.count
        changes.failed += [(None, error)] * left
    if changes.all_failed:
        _, first_error = changes.failed[0]
        raise first_error
    return _respond_changed(changes, ids, fields.get("_list"), service.site(request))


def _respond_changed(
    changes: ChangedBookmarks, ids: Sequence[str], list_query: str | None, site: Site
) -> Response:
    """Redirect to the list, or respond with a page that has details or a button to undo."""
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


# --- One bookmark ---

# What a button does to one bookmark.
_Change = Callable[[Transaction, Entry], None]


class _Result(NamedTuple):
    """What became of one bookmark."""

    entry: Entry  # The bookmark as it was before the change.
    is_newer: bool = False  # The bookmark is newer than the page, and was not changed.
    error: StorageError | None = None  # The error of the change, which was not made.


def _change_one(
    folder: Transaction, id: str, shown_versions: set[str], change: _Change
) -> _Result:
    """Change a bookmark, unless it has another version than the page has shown."""
    entry = folder.get(id)
    if shown_version(entry) not in shown_versions:
        return _Result(entry, is_newer=True)
    try:
        change(folder, entry)
    except (Gone, Invalid, Unreadable) as error:
        return _Result(entry, error=error)
    return _Result(entry)


def _add_outcome(changes: ChangedBookmarks, outcome: Outcome[str, _Result]) -> None:
    if isinstance(outcome, Failed):
        changes.failed.append((None, outcome.error))
        return
    result = outcome.result
    if result.is_newer:
        changes.newer.append(result.entry)
    elif result.error:
        changes.failed.append((result.entry.bookmark, result.error))
    else:
        changes.done.append(result.entry.bookmark)


def _change_of_button(action: str, fields: Fields) -> _Change:
    """Return the change that a button makes.

    Raises Malformed for an unknown button, or Invalid for the typed tags.
    """
    match action:
        case "delete":
            return Transaction.delete
        case "add":
            return functools.partial(_change_tags, add=typed_tags(fields))
        case "remove":
            return functools.partial(_change_tags, remove=typed_tags(fields))
        case "read":
            return functools.partial(_change_tags, remove=[UNREAD])
        case "unread":
            return functools.partial(_change_tags, add=[UNREAD])
    raise Malformed("The form must say what to do: add, remove, read, unread or delete.")


def _change_tags(
    folder: Transaction,
    entry: Entry,
    *,
    remove: Sequence[str] = (),
    add: Sequence[str] = (),
) -> None:
    retagging = Retagging(Query(), remove=tuple(remove), add=tuple(add))
    fields = rules.clean({"tags": retagging.apply(entry.bookmark.tags)})
    folder.put(rules.update(entry.bookmark, fields), entry)
