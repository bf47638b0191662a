"""The page of rarely needed tools: downloads, feed, bookmarklet, import, similar addresses."""

from formats.html.frame import e, feed_address, number_of_bookmarks, write_page
from formats.html.parts import title_link
from formats.html.start import bookmarklet, import_form
from formats.listing import Parameters, Site, View, with_query
from storage.bookmark import Bookmark
from storage.similar import Group

# The labels of the download links by the names of the formats.
_EXPORTS = {
    "netscape": "Browser bookmark file (HTML)",
    "csv": "Spreadsheet (CSV)",
    "json": "All fields (JSON)",
    "xbel": "XBEL (XML)",
    "text": "Plain text",
}
_MAX_GROUPS = 100  # Of similar addresses; a longer report takes long to read.


def write_tools(view: View, total: int, similar: list[Group]) -> str:
    """Return the page. The downloads have the `total` bookmarks that the query selects."""
    site = view.site
    filter = [(name, value) for name, value in view.parameters if name in ("tag", "q")]
    sections = {
        f"Download {number_of_bookmarks(total)}": _filter_text(filter) + _downloads(view, filter),
        "Add from any page": bookmarklet(site),
        "Import": import_form(site),
        "Similar addresses": _similar(site, similar),
    }
    main = "".join(
        f'<section class="sheet">\n<h2>{heading}</h2>\n{content}</section>\n'
        for heading, content in sections.items()
    )
    return write_page("Tools", main, site)


def _filter_text(filter: Parameters) -> str:
    if not filter:
        return ""
    words = " ".join(f"#{value}" if name == "tag" else value for name, value in filter)
    return f'<p>Only those of the list <strong dir="auto">{e(words)}</strong>.</p>\n'


def _downloads(view: View, filter: Parameters) -> str:
    links = "".join(
        f'<a href="{e(with_query(f"{view.site.path}/", [*filter, ("format", format)]))}">'
        f"{label}</a>\n"
        for format, label in _EXPORTS.items()
    )
    feed = f'<a href="{e(feed_address(view.site, filter))}">Feed (Atom)</a>'
    return f'<p class="links">{links}{feed}</p>\n'


def _similar(site: Site, groups: list[Group]) -> str:
    """Return the groups of bookmarks whose addresses differ only a little."""
    if not groups:
        return "<p>No two bookmarks have addresses that differ only a little.</p>\n"

    def item(b: Bookmark) -> str:
        return f'{title_link(b)} <code>{e(b.uri)}</code> <a href="{e(site.path)}/{b.id}">Edit</a>'

    shown = groups[:_MAX_GROUPS]
    items = "".join(f"<li>{'<br>'.join(map(item, group))}</li>\n" for group in shown)
    return (
        f"<p>Groups: {len(groups):,}. The addresses of a group differ only in http or https, www., "
        "a slash at the end, a fragment, or parameters for tracking. Open them, and delete what "
        f'you have twice.</p>\n<ul class="similar">\n{items}</ul>\n'
    )
