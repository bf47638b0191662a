"""The page of recently deleted bookmarks, and the forms that put them back or erase them."""

from contextlib import suppress

import msgspec
from webob import Request

from formats.html.refused_form import write_not_done
from formats.html.trash import PAGE_SIZE, write_not_restored, write_trash
from formats.http.form_handler import Fields, checked_ids, form_handler, respond_page
from formats.http.request import query_parameters
from formats.http.response import Response, see_other
from formats.http.routing import Service
from formats.listing import Site, list_address, with_query
from storage import trash
from storage.batch import Done, Failed, change_in_batches
from storage.errors import Conflict, NotFound, StorageError
from storage.query import parse_query
from storage.store import Store


def show_trash(service: Service, request: Request) -> Response:
    """GET /-/trash: recently deleted bookmarks, the latest deletion first."""
    parameters = query_parameters(request)
    offset = parse_query(parameters, PAGE_SIZE).offset
    deleted, total = service.store.trash.find(PAGE_SIZE, offset)
    view = service.view(request, parameters)
    days = service.store.trash.keep_deleted
    return respond_page(write_trash(deleted, total, offset, days, view))


class _Results(msgspec.Struct):
    new_ids: list[str] = []
    conflicting_ids: list[str] = []  # Bookmarks with the address of a deleted one.
    missing_count: int = 0


@form_handler(write_not_done)
def restore(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/restore: put deleted bookmarks back."""
    results = _restore_all(service.store, _chosen_ids(fields))
    site = service.site(request)
    if results.conflicting_ids or results.missing_count:
        return _respond_not_restored(service, site, results)
    counts = {"restored": len(results.new_ids)}
    if "_list" in fields:
        first_in_list = results.new_ids[-1]
        return see_other(list_address(site.url, fields["_list"], first_in_list, counts))
    return see_other(with_query(f"{site.url}/-/trash", list(counts.items())))


def _respond_not_restored(service: Service, site: Site, results: _Results) -> Response:
    conflicting = []
    for id in results.conflicting_ids:
        with suppress(StorageError):
            conflicting.append(service.store.get(id).bookmark)
    restored_count = len(results.new_ids)
    page = write_not_restored(restored_count, conflicting, results.missing_count, site)
    if restored_count:
        return respond_page(page)
    return respond_page(page, "409 Conflict")


def _restore_all(store: Store, ids: list[str]) -> _Results:
    results = _Results()
    # Lists show the newest id first, if dates are equal. The first bookmark is restored last, so
    # that it gets the newest id.
    for outcome in change_in_batches(store, reversed(ids), trash.restore):
        match outcome:
            case Done(_, entry):
                results.new_ids.append(entry.bookmark.id)
            case Failed(_, Conflict() as conflict):
                results.conflicting_ids.append(conflict.id)
            case Failed(_, NotFound()):
                results.missing_count += 1
            case Failed(_, error):
                raise error
    return results


@form_handler(write_not_done)
def erase(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/trash: remove the files of deleted bookmarks for good."""
    erased = 0
    for outcome in change_in_batches(service.store, _chosen_ids(fields), trash.erase):
        match outcome:
            case Done():
                erased += 1
            case Failed(_, NotFound()):
                pass  # Already erased or restored.
            case Failed(_, error):
                raise error
    address = f"{service.site(request).url}/-/trash"
    return see_other(with_query(address, [("erased", erased)]))


def _chosen_ids(fields: Fields) -> list[str]:
    if fields.get("only"):  # The button beside a bookmark was pressed.
        return [fields["only"]]
    return checked_ids(fields)
