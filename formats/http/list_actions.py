"""The handlers of forms that change or delete bookmarks of a list."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from webob import Request

from formats.html.changed_bookmarks import ChangedBookmarks, write_changed_bookmarks
from formats.html.editor import UNREAD, shown_version
from formats.html.refused_form import write_not_done
from formats.http import problems
from formats.http.form_handler import (
    Fields,
    checked_ids,
    form_handler,
    respond_page,
    respond_problem_page,
    typed_tags,
)
from formats.http.response import Response, see_other
from formats.http.routing import Service
from formats.listing import Site, list_address
from storage import bookmark as rules
from storage.batch import Done, Failed, Outcome, change_batch, split
from storage.bookmark import Bookmark
from storage.errors import (
    Busy,
    Full,
    Malformed,
    OutcomeUnknown,
    StorageError,
    Unavailable,
)
from storage.index import Entry
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
    """POST /-/{button}/{id}: delete a bookmark, or mark it as read or unread."""
    return _apply_button(service, request, fields, [bookmark], button)


def _apply_button(
    service: Service, request: Request, fields: Fields, ids: Sequence[str], button: str
) -> Response:
    changes = _act_on_all(service.store, ids, button, fields)
    _raise_if_nothing_done(changes)
    # The page offers to put deleted bookmarks back, and shows what was not done.
    if changes.is_deletion or not changes.is_complete:
        return respond_changed(request, changes, service.site(request), fields.get("_list"))
    id = ""
    if len(ids) == 1:
        id = ids[0]
    results = {"changed": len(changes.done)}
    return see_other(list_address(service.site(request).url, fields.get("_list"), id, results))


def _raise_if_nothing_done(changes: ChangedBookmarks) -> None:
    """Raise the first error if all bookmarks failed, so that the form is shown again."""
    if changes.done or changes.changed_meanwhile:
        return
    if changes.ended_by:
        raise changes.ended_by
    _, first_error = changes.failed[0]
    raise first_error


def _act_on_all(
    store: Store, ids: Sequence[str], button: str, fields: Fields
) -> ChangedBookmarks:
    act_on_one = functools.partial(
        _act_unless_newer,
        shown_versions=set(fields.get("_shown", "").split()),
        action=_action_of(button, fields),
    )
    changes = ChangedBookmarks(
        is_deletion=button == "delete", can_be_restored=store.trash.keep_deleted != 0
    )
    changes.left_count = len(ids)
    for batch in split(ids):
        try:
            outcomes = change_batch(store, batch, act_on_one)
        except (Busy, Full, Unavailable) as error:
            changes.ended_by = error
            if isinstance(error, OutcomeUnknown):
                changes.unknown_count = len(batch)
                changes.left_count -= len(batch)
            break
        for outcome in outcomes:
            _add_outcome(store, changes, outcome)
        changes.left_count -= len(batch)
    return changes


def respond_changed(
    request: Request, changes: ChangedBookmarks, site: Site, list_query: str | None
) -> Response:
    page = write_changed_bookmarks(changes, site, list_query)
    problem = None
    if changes.ended_by:
        problem = problems.problem_of(request, changes.ended_by, site)  # Logs disk errors.
    if changes.done and not changes.unknown_count:
        return respond_page(page)
    if problem:
        return respond_problem_page(page, problem)
    return respond_page(page, "412 Precondition Failed")


_Action = Callable[[Transaction, Entry], None]


class _Newer(NamedTuple):
    """A bookmark that has changed since the page was made, and is left alone."""

    entry: Entry


def _act_unless_newer(
    transaction: Transaction, id: str, shown_versions: set[str], action: _Action
) -> Bookmark | _Newer:
    """Act on a bookmark and return its old values, or return `_Newer`."""
    entry = transaction.get(id)
    if shown_version(entry) not in shown_versions:
        return _Newer(entry)
    action(transaction, entry)
    return entry.bookmark


def _add_outcome(
    store: Store, changes: ChangedBookmarks, outcome: Outcome[str, Bookmark | _Newer]
) -> None:
    match outcome:
        case Done(_, Bookmark() as before):
            changes.done.append(before)
        case Done(_, _Newer(entry)):
            changes.changed_meanwhile.append(entry)
        case Failed(id, error):
            changes.failed.append((_find_bookmark(store, id), error))


def _find_bookmark(store: Store, id: str) -> Bookmark | None:
    try:
        return store.get(id).bookmark
    except StorageError:
        return None


def _action_of(button: str, fields: Fields) -> _Action:
    match button:
        case "delete":
            return Transaction.delete
        case "add":
            return functools.partial(_add_tags, tags=typed_tags(fields))
        case "remove":
            return functools.partial(_remove_tags, tags=typed_tags(fields))
        case "read":
            return functools.partial(_remove_tags, tags=[UNREAD])
        case "unread":
            return functools.partial(_add_tags, tags=[UNREAD])
    raise Malformed("The form must say what to do: add, remove, read, unread or delete.")


def _add_tags(transaction: Transaction, entry: Entry, tags: Sequence[str]) -> None:
    _set_tags(transaction, entry, [*entry.bookmark.tags, *tags])


def _remove_tags(transaction: Transaction, entry: Entry, tags: Sequence[str]) -> None:
    _set_tags(transaction, entry, rules.tags_without(entry.bookmark.tags, tags))


def _set_tags(transaction: Transaction, entry: Entry, tags: Sequence[str]) -> None:
    fields = rules.clean({"tags": tags})
    transaction.put(rules.update(entry.bookmark, fields), entry)
