"""The page of bookmarks with similar addresses, and its form that keeps one of a group."""

from webob import Request

from formats.html.changed_bookmarks import ChangedBookmarks, write_changed_bookmarks
from formats.html.editor import shown_version
from formats.html.refused_form import write_not_done
from formats.html.similar import MAX_GROUP, write_similar
from formats.http.form_handler import Fields, form_handler, respond_page
from formats.http.response import OK, Response
from formats.http.routing import Service
from storage import bookmark as rules
from storage.errors import Malformed
from storage.query import Query
from storage.similar import find_similar


def show_similar(service: Service, request: Request) -> Response:
    """GET /-/similar: the bookmarks whose addresses differ only a little."""
    newest_first = service.store.select(Query()).entries
    groups = find_similar(reversed(newest_first))
    return respond_page(write_similar(groups, service.site(request)))


@form_handler(write_not_done)
def keep(service: Service, request: Request, fields: Fields, bookmark: str) -> Response:
    """POST /-/keep/{id}: delete the others of its group, and add their tags to this bookmark.

    Nothing is done if one of them has changed since the page was made.
    """
    other_ids = set(fields.get("others", "").split()) - {bookmark}
    if not 0 < len(other_ids) < MAX_GROUP:
        raise Malformed(f"The form must name 1 to {MAX_GROUP - 1} other bookmarks.")
    shown = set(fields.get("_shown", "").split())
    changes = ChangedBookmarks(True, service.store.trash.keep_deleted != 0)
    status = OK
    with service.store.transaction() as folder:
        kept = folder.get(bookmark)
        others = [folder.get(id) for id in sorted(other_ids)]
        changes.newer = [entry for entry in (kept, *others) if shown_version(entry) not in shown]
        if changes.newer:
            status = "412 Precondition Failed"
        else:
            tags = list(kept.bookmark.tags)
            for entry in others:
                tags += entry.bookmark.tags
                folder.delete(entry)
                changes.done.append(entry.bookmark)
            folder.put(rules.update(kept.bookmark, rules.clean({"tags": tags})), kept)
    page = write_changed_bookmarks(changes, service.site(request), None)
    return respond_page(page, status)
