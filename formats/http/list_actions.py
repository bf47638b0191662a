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
    Gone,
    Invalid,
    Malformed,
    OutcomeUnknown,
    StorageError,
    Unavailable,
    Unreadable,
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
    # After a deletion, the page offers to put the bookmarks back.
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
            _add_outcome(changes, outcome)
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


class _Changed(NamedTuple):
    before: Bookmark


class _ChangedMeanwhile(NamedTuple):
    """The bookmark was not changed, because its version is not the one on the page."""

    entry: Entry


class _Refused(NamedTuple):
    """The bookmark was not changed, because of an error."""

    bookmark: Bookmark
    error: StorageError


# What happened to one bookmark in a transaction. `_add_outcome` adds it to the page's lists only
# after the transaction, because an error at its end may leave every bookmark as it was.
_Attempt = _Changed | _ChangedMeanwhile | _Refused


def _act_unless_newer(
    transaction: Transaction, id: str, shown_versions: set[str], action: _Action
) -> _Attempt:
    entry = transaction.get(id)
    if shown_version(entry) not in shown_versions:
        return _ChangedMeanwhile(entry)
    try:
        action(transaction, entry)
    except (Gone, Invalid, Unreadable) as error:
        return _Refused(entry.bookmark, error)
    return _Changed(entry.bookmark)


def _add_outcome(changes: ChangedBookmarks, outcome: Outcome[str, _Attempt]) -> None:
    match outcome:
        case Done(_, _Changed(bookmark)):
            changes.done.append(bookmark)
        case Done(_, _ChangedMeanwhile(entry)):
            changes.changed_meanwhile.append(entry)
        case Done(_, _Refused(bookmark, error)):
            changes.failed.append((bookmark, error))
        case Failed(_, error):
            changes.failed.append((None, error))


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
