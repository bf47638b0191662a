"""The page in the response to a deletion, with a form that puts the bookmark back."""

from formats.html.bookmark import MAX_TITLE_SHOWN, host_html
from formats.html.editor import form_values
from formats.html.frame import (
    ENCTYPE_MULTIPART,
    END,
    begin,
    cut,
    e,
    hidden_input,
    list_link,
    notice,
)
from formats.html.view import Site
from storage.bookmark import Bookmark


def write_deleted(b: Bookmark, site: Site, list_query: str | None) -> str:
    """Return the page that names the deleted bookmark.

    The service keeps only the id and the time of the deletion: the hidden fields of the form are
    the only copy of the bookmark's values.
    """
    fields = form_values(b) | {"created": b.created}
    fields |= {} if list_query is None else {"_list": list_query}
    inputs = "".join(hidden_input(name, value) for name, value in fields.items())
    title = e(cut(b.title, MAX_TITLE_SHOWN))
    # Multipart, because URL-encoding could make a long bookmark too large for the service.
    content = (
        f"<p>Deleted: <strong><bdi>{title}</bdi></strong> {host_html(b.uri)}</p>\n"
        f'<form method="post" action="{e(site.path)}/-/restore" {ENCTYPE_MULTIPART}>'
        f"{inputs}<button>Put it back</button></form>\n"
        "<p>You can put it back until you leave this page.</p>\n"
    )
    return (
        f'{begin(f"Deleted: {b.title}", site, list_query)}<main id="main" class="single">\n'
        f"<h1>The bookmark is deleted</h1>\n{notice(content)}"
        f"{list_link(site, list_query)}</main>\n{END}"
    )
