"""The forms that change or delete the bookmarks of a list, and those that put them back."""

from collections.abc import Sequence, Set
from typing import Any

import msgspec
from msgspec.structs import asdict
from webob import Request

from formats.form import MAX_FIELDS
from formats.html.changed_bookmarks import Outcome, write_outcome
from formats.html.editor import UNREAD, shown_version
from formats.html.refused_form import write_not_done
from formats.http.form_handler import Fields, form_handler, respond_page, typed_tags
from formats.http.request import MAX_FILE
from formats.http.response import OK, Response, see_other
from formats.http.routing import Service
from formats.listing import list_address
from storage import bookmark as rules
from storage.bookmark import Bookmark
from storage.errors import Gone, Invalid, Malformed, NotFound, StorageError, Unreadable
from storage.query import Query
from storage.retag import Retagging
from storage.store import MAX_CHANGES, Transaction


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


def _change(
    service: Service, request: Request, fields: Fields, ids: Sequence[str], action: str
) -> Response:
    """Do what a button means to these bookmarks, but only to the versions that the page showed."""
    outcome = Outcome(is_deletion=action == "delete")
    retagging = _retagging(action, fields)
    shown = set(fields.get("_shown", "").split())
    for batch in _batches(ids):
        done_before = outcome.done.copy()
        try:
            with service.store.transaction() as folder:
                for id in batch:
                    _change_one(folder, id, shown, retagging, outcome)
        except StorageError as error:  # A part of the batch may be stored.
            in_batch = outcome.done[len(done_before) :]
            outcome.done = done_before + [b for b in in_batch if b.id in folder.published]
            if not outcome.done:
                raise
            # The page must say what is done, and how many bookmarks are left.
            left = len(ids) - len(outcome.done) - len(outcome.newer) - len(outcome.failed)
            outcome.failed += [(None, error)] * left
            break
    if outcome.failed and not outcome.done and not outcome.newer:
        raise outcome.failed[0][1]
    site, list_query = service.site(request), fields.get("_list")
    if outcome.is_deletion or not outcome.is_complete:
        status = OK if outcome.done else "412 Precondition Failed"
        return respond_page(write_outcome(outcome, site, list_query), status)
    id = ids[0] if len(ids) == 1 else ""
    return see_other(list_address(site.url, list_query, id, {"changed": len(outcome.done)}))


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
    raise Malformed("The form must say what to do: add, remove, read or delete.")


def _batches(items: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the items in parts, each for one transaction."""
    return [items[start : start + MAX_CHANGES] for start in range(0, len(items), MAX_CHANGES)]


def _change_one(
    folder: Transaction, id: str, shown: Set[str], retagging: Retagging, outcome: Outcome
) -> None:
    """Change or delete a bookmark in the transaction, unless it is newer than the page showed."""
    found: Bookmark | None = None
    try:
        entry = folder.get(id)
        found = entry.bookmark
        if shown_version(entry) not in shown:
            outcome.newer.append(entry)
            return
        if outcome.is_deletion:
            folder.delete(entry)
        else:
            fields = rules.clean({"tags": retagging.apply(entry.bookmark.tags)})
            folder.put(rules.update(entry.bookmark, fields), entry)
        outcome.done.append(entry.bookmark)
    except (Invalid, NotFound, Gone, Unreadable) as error:
        outcome.failed.append((found, error))


@form_handler(write_not_done, MAX_FILE)
def restore(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/restore: put deleted bookmarks back, or open the one that has the address again."""
    restored, existing = [], []
    # Put the last one back first: of bookmarks of the same second, a list shows new ids before old.
    for batch in _batches(_parse_deleted(fields.get("_deleted", ""))[::-1]):
        with service.store.transaction() as folder:
            for deleted in batch:
                if holder := folder.holder(deleted["uri"]):
                    existing.append(holder.bookmark.id)
                    continue
                # With the old time, clients that ask for recent changes would miss the bookmark.
                new = rules.create(deleted | {"modified": rules.now()}, folder.mint())
                restored.append(folder.put(new).bookmark.id)
    site, list_query = service.site(request), fields.get("_list")
    if list_query is None or not restored:
        return see_other(site.bookmark([*existing, *restored][-1]))
    results = {"restored": len(restored)}
    return see_other(list_address(site.url, list_query, restored[-1], results))


class _Deleted(msgspec.Struct):
    uri: str
    title: str
    description: str
    tags: list[str]
    created: str


def _parse_deleted(text: str) -> list[rules.Fields]:
    """Return the fields of each bookmark in the form of a deletion. Raises Malformed or Invalid."""
    try:
        deleted = msgspec.json.decode(text, type=list[_Deleted])
    except msgspec.MsgspecError:
        deleted = []
    if not 0 < len(deleted) <= MAX_FIELDS:  # A form deletes at most as many.
        raise Malformed(f"The form must have 1 to {MAX_FIELDS:,} deleted bookmarks.")
    return [rules.clean(asdict(bookmark)) for bookmark in deleted]
