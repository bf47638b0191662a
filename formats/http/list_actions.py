"""The handlers of forms that change or delete bookmarks of a list."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from webob import Request

from formats.html.changed_bookmarks import ChangedBookmarks, write_changed_bookmarks
from formats.html.editor import UNREAD, shown_version
from formats.html.refused_form import write_not_done
from formats.http.form_handler import Fields, checked_ids, form_handler, respond_page, typed_tags
from formats.http.response import Response, see_other
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
from storage.store import Store
from storage.transaction import Transaction


@form_handler(write_not_done)
def change_selected(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/selected: change or delete the checked bookmarks."""
    button = fields.get("do", "")
    return _apply_button(service, request, fields, checked_ids(fields), button)


@form_handler(write_not_done)
def change_one(
    service: Service, request: Request, fields: Fields, bookmark: str, button: str
) -> Response:
    """POST /-/delete/{id}, /-/read/{id} or /-/unread/{id}: delete or change one bookmark."""
    return _apply_button(service, request, fields, [bookmark], button)


def _apply_button(
    service: Service, request: Request, fields: Fields, ids: Sequence[str], button: str
) -> Response:
    results = _act_on_all(service.store, ids, button, fields)
    if results.all_failed:
        _, first_error = results.failed[0]
        raise first_error
    return _respond(results, ids, fields.get("_list"), service.site(request))


def _act_on_all(
    store: Store, ids: Sequence[str], button: str, fields: Fields
) -> ChangedBookmarks:
    act_on_one = functools.partial(
        _act_unless_newer,
        shown_versions=set(fields.get("_shown", "").split()),
        action=_action_of(button, fields),
    )
    results = ChangedBookmarks(
        is_deletion=button == "delete", can_be_restored=store.trash.keep_deleted != 0
    )
    try:
        for outcome in change_in_batches(store, ids, act_on_one):
            _add_outcome(results, outcome)
    except OutcomeUnknown as error:
        # The disk failed, so the remaining bookmarks may be changed or not.
        results.unknown_count = len(ids) - results.known_count
        results.unknown_reason = str(error)
    except StorageError as error:
        if not results.done:
            raise
        # The remaining bookmarks were left alone.
        results.failed += [(None, error)] * (len(ids) - results.known_count)
    return results


def _respond(
    results: ChangedBookmarks, ids: Sequence[str], list_query: str | None, site: Site
) -> Response:
    if results.is_deletion or not results.is_complete:
        return respond_changed(results, site, list_query)
    id = ""
    if len(ids) == 1:
        id = ids[0]
    return see_other(list_address(site.url, list_query, id, {"changed": len(results.done)}))


def respond_changed(
    results: ChangedBookmarks, site: Site, list_query: str | None
) -> Response:
    """Respond with a page about the changed bookmarks and those left alone."""
    page = write_changed_bookmarks(results, site, list_query)
    if results.unknown_count:
        return respond_page(page, "503 Service Unavailable")
    if results.done:
        return respond_page(page)
    return respond_page(page, "412 Precondition Failed")


# Does what a button means to one bookmark.
_Action = Callable[[Transaction, Entry], None]


class _Result(NamedTuple):
    """The outcome of an action on one bookmark."""

    entry: Entry  # The bookmark as it was before the change.
    is_newer: bool = False  # Left alone: another client has changed it meanwhile.
    error: StorageError | None = None  # Left alone because of this error.


def _act_unless_newer(
    folder: Transaction, id: str, shown_versions: set[str], action: _Action
) -> _Result:
    """Act on a bookmark, unless the page has shown another version of it."""
    entry = folder.get(id)
    if shown_version(entry) not in shown_versions:
        return _Result(entry, is_newer=True)
    try:
        action(folder, entry)
    except (Gone, Invalid, Unreadable) as error:
        return _Result(entry, error=error)
    return _Result(entry)


def _add_outcome(results: ChangedBookmarks, outcome: Outcome[str, _Result]) -> None:
    if isinstance(outcome, Failed):
        results.failed.append((None, outcome.error))
        return
    result = outcome.result
    if result.is_newer:
        results.changed_meanwhile.append(result.entry)
    elif result.error:
        results.failed.append((result.entry.bookmark, result.error))
    else:
        results.done.append(result.entry.bookmark)


def _action_of(button: str, fields: Fields) -> _Action:
    match button:
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
