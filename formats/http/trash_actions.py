"""The page of recently deleted bookmarks, and the forms that put them back or erase them."""

from contextlib import suppress

import msgspec
from webob import Request

from formats.html.refused_form import write_not_done
from formats.html.trash import PAGE_SIZE, write_not_restored, write_trash
from formats.http.form_handler import Fields, checked_ids, form_handler, respond_page
from formats.http.request import query_parameters
from formats.http.response import OK, Response, see_other
from formats.http.routing import Service
from formats.listing import list_address, with_query
from storage import trash
from storage.batch import Done, Failed, change_in_batches
from storage.bookmark import Bookmark
from storage.errors import Conflict, NotFound, StorageError
from storage.query import parse_query
from storage.store import Store
from storage.transaction import Transaction


def show_trash(service: Service, request: Request) -> Response:
    """GET /-/trash: recently deleted bookmarks, the latest deletion first."""
    parameters = query_parameters(request)
    offset = parse_query(parameters, PAGE_SIZE).offset
    deleted, total = service.store.trash.find(PAGE_SIZE, offset)
    view = service.view(request, parameters)
    days = service.store.trash.keep_deleted
    return respond_page(write_trash(deleted, total, offset, days, view))


@form_handler(write_not_done)
def restore(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/restore: put deleted bookmarks back, and return to the list or the trash."""
    results = _restore_all(service.store, _chosen(fields))
    site = service.site(request)
    restored = results.restored
    if results.saved_again or results.missing:
        holders = _find_readable(service, results.saved_again)
        page = write_not_restored(len(restored), holders, results.missing, site)
        status = OK
        if not restored:
            status = "409 Conflict"
        return respond_page(page, status)
    counts = {"restored": len(restored)}
    if "_list" in fields:
        return see_other(list_address(site.url, fields["_list"], restored[-1], counts))
    return see_other(with_query(f"{site.url}/-/trash", list(counts.items())))


class _Results(msgspec.Struct):
    """What happened to the bookmarks to restore."""

    restored: list[str] = []  # The new ids.
    saved_again: list[str] = []  # The ids of bookmarks with the uri of a deleted one.
    missing: int = 0  # The number of ids that were not in the trash.


def _restore_all(store: Store, ids: list[str]) -> _Results:
    """Restore the last bookmark first: it gets the oldest new id, so lists show it last."""
    results = _Results()
    for outcome in change_in_batches(store, reversed(ids), _restore_one):
        match outcome:
            case Done(_, Conflict() as conflict):
                results.saved_again.append(conflict.id)
            case Done(_, Bookmark() as bookmark):
                results.restored.append(bookmark.id)
            case Failed(_, NotFound()):
                results.missing += 1
            case Failed(_, error):
                raise error
    return results


def _restore_one(folder: Transaction, id: str) -> Bookmark | Conflict:
    """Restore a bookmark. Return Conflict, which would end the batch if it were raised."""
    try:
        return trash.restore(folder, id).bookmark
    except Conflict as error:
        return error


def _find_readable(service: Service, ids: list[str]) -> list[Bookmark]:
    found = []
    for id in ids:
        with suppress(StorageError):
            found.append(service.store.get(id).bookmark)
    return found


@form_handler(write_not_done)
def erase(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/trash: remove the files of deleted bookmarks for good."""
    erased = 0
    for outcome in change_in_batches(service.store, _chosen(fields), trash.erase):
        match outcome:
            case Done():
                erased += 1
            case Failed(_, NotFound()):
                pass  # Another request has already erased or restored it.
            case Failed(_, error):
                raise error
    address = f"{service.site(request).url}/-/trash"
    return see_other(with_query(address, [("erased", erased)]))


def _chosen(fields: Fields) -> list[str]:
    """Return the ids of the chosen bookmarks. Raises Invalid for none."""
    if fields.get("only"):  # The button beside a bookmark was pressed.
        return [fields["only"]]
    return checked_ids(fields)
