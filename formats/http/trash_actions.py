"""The page of recently deleted bookmarks, and the forms that put them back or erase them."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from webob import Request

from formats.html.refused_form import write_not_done
from formats.html.trash import PAGE_SIZE, TrashResults, write_not_all_done, write_trash
from formats.http.form_handler import Fields, checked_ids, form_handler, respond_page
from formats.http.problems import RETRY_SECONDS, Unfinished
from formats.http.request import query_parameters
from formats.http.response import Response, see_other
from formats.http.routing import Service
from formats.listing import Site, list_address, with_query
from storage import trash
from storage.batch import Done, Failed, change_in_batches
from storage.errors import Busy, Conflict, Full, NotFound, StorageError, Unavailable
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
    """POST /-/restore: put deleted bookmarks back."""
    # Restored bookmarks get new ids, and lists show the newest id first if dates are equal. Restore
    # the first bookmark last.
    ids = reversed(_chosen_ids(fields))
    results = _change_all(service.store, ids, trash.restore, "put back")
    site = service.site(request)
    if results.conflicting_ids or results.missing_count or results.errors:
        return _respond_not_all_done(service, site, results)
    counts = {"restored": len(results.done)}
    if "_list" in fields:
        first_in_list = results.done[-1].bookmark.id
        return see_other(list_address(site.url, fields["_list"], first_in_list, counts))
    return see_other(with_query(f"{site.url}/-/trash", list(counts.items())))


@form_handler(write_not_done)
def erase(service: Service, request: Request, fields: Fields) -> Response:
    """POST /-/trash: remove the files of deleted bookmarks for good."""
    ids = _chosen_ids(fields)
    results = _change_all(service.store, ids, trash.erase, "deleted for good")
    site = service.site(request)
    results.missing_count = 0  # Missing bookmarks were erased or restored before.
    if results.errors:
        return _respond_not_all_done(service, site, results)
    return see_other(with_query(f"{site.url}/-/trash", [("erased", len(results.done))]))


def _change_all(
    store: Store, ids: Iterable[str], change: Callable[[Transaction, str], Any], participle: str
) -> TrashResults:
    """Change bookmarks of the trash. Raises Unfinished."""
    results = TrashResults(participle)
    try:
        for outcome in change_in_batches(store, ids, change):
            match outcome:
                case Done(_, result):
                    results.done.append(result)
                case Failed(_, Conflict() as conflict):
                    results.conflicting_ids.append(conflict.id)
                case Failed(_, NotFound()):
                    results.missing_count += 1
                case Failed(_, error):
                    results.errors.append(error)
    except (Busy, Full, Unavailable) as error:
        raise Unfinished(len(results.done), participle, error) from error
    return results


def _respond_not_all_done(service: Service, site: Site, results: TrashResults) -> Response:
    conflicting = []
    for id in results.conflicting_ids:
        with suppress(StorageError):
            conflicting.append(service.store.get(id).bookmark)
    page = write_not_all_done(results, conflicting, site)
    if results.done:
        return respond_page(page)
    if not results.errors:
        return respond_page(page, "409 Conflict")
    response = respond_page(page, "503 Service Unavailable")
    response.headers["Retry-After"] = RETRY_SECONDS
    return response


def _chosen_ids(fields: Fields) -> list[str]:
    if fields.get("only"):  # The button beside a bookmark was pressed.
        return [fields["only"]]
    return checked_ids(fields)
