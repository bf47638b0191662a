"""The forms that change several bookmarks of a list at once, and those that put them back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict
from webob import Request

from formats.form import fields_by_name
from formats.html import MEDIA_TYPE as HTML
from formats.html import selected as pages
from formats.html.deleted import write_deleted, write_not_restored
from formats.html.editor import UNREAD, is_shown_version
from formats.html.view import list_address
from formats.http import problems
from formats.http.request import MAX_FILE, read_form
from formats.http.response import Response, respond_with, see_other
from formats.http.routing import Service
from storage import bookmark as rules
from storage.errors import Gone, Invalid, Malformed, NotFound, Unreadable
from storage.index import Entry
from storage.query import Query
from storage.retag import Retagging
from storage.store import MAX_CHANGES, Transaction

# A function that changes a bookmark in a transaction; it gets the tags in the form.
_Action = Callable[[Transaction, Entry, Sequence[str]], None]


class Selection(msgspec.Struct, frozen=True):
    """The checked bookmarks of a list, the `shown_versions` of that list, and the typed tags."""

    ids: Sequence[str]
    shown: str
    tags: Sequence[str]
    list_query: str

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> "Selection":
        """Return the selection in a form. Raises Invalid."""
        if not (ids := fields.get("selected")):
            raise Invalid([("list", "has no checked bookmark: check some, then repeat this")])
        tags = rules.clean({"tags": fields.get("tags", [])})["tags"]
        if not tags and fields.get("do") in ("add", "remove"):
            raise Invalid([("tags", "are missing: type some")])
        return cls(ids, fields.get("_shown", ""), tags, fields.get("_list", ""))


def _retag(folder: Transaction, entry: Entry, retagging: Retagging) -> None:
    fields = rules.clean({"tags": retagging.apply(entry.bookmark.tags)})
    folder.put(rules.update(entry.bookmark, fields), entry)


def _add(folder: Transaction, entry: Entry, tags: Sequence[str]) -> None:
    _retag(folder, entry, Retagging(Query(), add=tuple(tags)))


def _remove(folder: Transaction, entry: Entry, tags: Sequence[str]) -> None:
    _retag(folder, entry, Retagging(Query(), remove=tuple(tags)))


def _mark_as_read(folder: Transaction, entry: Entry, tags: Sequence[str] = ()) -> None:
    _remove(folder, entry, [UNREAD])


def _delete(folder: Transaction, entry: Entry, tags: Sequence[str]) -> None:
    folder.delete(entry)


_ACTIONS: Mapping[str, _Action] = {
    "add": _add,
    "remove": _remove,
    "read": _mark_as_read,
    "delete": _delete,
}


def change_selected(service: Service, request: Request) -> Response:
    """POST /-/selected: change or delete the checked bookmarks whose versions the list showed."""
    fields, site = fields_by_name(read_form(request)), service.site(request)
    try:
        selection = Selection.read(fields)
        if (action := _ACTIONS.get(str(fields.get("do")))) is None:
            raise Invalid([("button", "is unknown")])
        changed, others = _apply(service, selection, action)
    except Exception as error:
        problem = problems.problem_of(request, error, site)
        page = pages.write_selected_refused(fields, problem, site)
        return respond_with(HTML, page.encode(), problem.status_line)
    missing_count = len(selection.ids) - len(changed) - len(others)
    query, status = selection.list_query, "412 Precondition Failed" if others else "200 OK"
    if action is _delete:
        rest = pages.others_html(others, missing_count)
        page = write_deleted([entry.bookmark for entry in changed], site, query, rest)
        return respond_with(HTML, page.encode(), "200 OK" if changed else status)
    if others or missing_count:
        page = pages.write_partly_changed(len(changed), others, missing_count, query, site)
        return respond_with(HTML, page.encode(), status)
    return see_other(list_address(site.url, query, changed=len(changed)))


def _apply(
    service: Service, selection: Selection, action: _Action
) -> tuple[list[Entry], list[Entry]]:
    """Change the selected bookmarks; return them, and those that have other versions."""
    changed, others = [], []
    with service.store.transaction() as folder:
        for id in selection.ids:
            try:
                entry = folder.get(id)
            except (NotFound, Gone, Unreadable):
                continue
            if is_shown_version(entry, selection.shown):
                action(folder, entry, selection.tags)
                changed.append(entry)
            else:
                others.append(entry)
    return changed, others


def mark_as_read(service: Service, request: Request, bookmark: str) -> Response:
    """POST /-/read/{id}: remove the tag of unread bookmarks."""
    list_query = str(fields_by_name(read_form(request)).get("_list", ""))
    with service.store.transaction() as folder:
        _mark_as_read(folder, folder.get(bookmark))
    return see_other(list_address(service.site(request).url, list_query, bookmark))


def restore(service: Service, request: Request) -> Response:
    """POST /-/restore: put deleted bookmarks back, or open the one that has the address again."""
    form, site = dict(read_form(request, MAX_FILE)), service.site(request)
    deleted, list_query = form.get("_deleted", ""), form.get("_list")
    try:
        restored, existing = _restore(service, _parse_deleted(deleted))
    except Exception as error:
        problem = problems.problem_of(request, error, site)
        page = write_not_restored(deleted, problem, site, list_query)
        return respond_with(HTML, page.encode(), problem.status_line)
    if not restored:
        return see_other(site.bookmark(existing[0]))
    if list_query is None and len(restored) == 1:
        return see_other(site.bookmark(restored[0]))
    address = list_address(site.url, list_query or "", restored[0], restored=" ".join(restored))
    return see_other(address)


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
    if not 0 < len(deleted) <= MAX_CHANGES:  # A form deletes at most as many.
        raise Malformed(f"The form must have 1 to {MAX_CHANGES} deleted bookmarks.")
    return [rules.clean(asdict(bookmark)) for bookmark in deleted]


def _restore(service: Service, deleted: Sequence[rules.Fields]) -> tuple[list[str], list[str]]:
    """Return the ids of the bookmarks that were put back, and of those with their addresses."""
    restored, existing = [], []
    with service.store.transaction() as folder:
        for fields in deleted:
            if holder := folder.holder(fields["uri"]):
                existing.append(holder.bookmark.id)
                continue
            # With the old time, clients that ask for recent changes would miss the bookmark.
            new = rules.create(fields | {"modified": rules.now()}, folder.mint())
            restored.append(folder.put(new).bookmark.id)
    return restored, existing
