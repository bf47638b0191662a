"""The page of rarely needed tools: downloads, feed, bookmarklet, import, similar addresses."""

from formats.html.frame import e, feed_address, number_of_bookmarks, write_page
from formats.html.parts import title_link
from formats.html.start import bookmarklet, import_form
from formats.listing import Parameters, Site, View, with_query
from storage.bookmark import Bookmark
from storage.similar import Group

# The format, the suffix of the file and the label of each download.
_EXPORTS = (
    ("netscape", "html", "Browser bookmark file (HTML)"),
    ("csv", "csv", "Spreadsheet (CSV)"),
    ("json", "json", "All fields (JSON)"),
    ("xbel", "xbel", "XBEL (XML)"),
    ("text", "txt", "Plain text"),
)
_MAX_GROUPS = 100  # Of similar addresses, to keep the report short.


def write_tools(view: View, total: int, similar: list[Group]) -> str:
    """Return the page. The downloads have the `total` bookmarks that the query selects."""
    site = view.site
    filter = [parameter for parameter in view.parameters if parameter[0] in ("tag", "q")]
    downloads = _filter_text(filter) + _downloads(site, filter)
    main = (
        _section(f"Download {number_of_bookmarks(total)}", downloads)
        + _section("Add from any page", bookmarklet(site))
        + _section("Import", import_form(site))
        + _section("Similar addresses", _similar(site, similar))
    )
    return write_page("Tools", main, site)


def _section(heading: str, content: str) -> str:
    return f'<section class="sheet">\n<h2>{heading}</h2>\n{content}</section>\n'


def _filter_text(filter: Parameters) -> str:
    if not filter:
        return ""
    words = []
    for name, value in filter:
        if name == "tag":
            value = f"#{value}"
        words.append(value)
    text = e(" ".join(words))
    return f'<p>Only those of the list <strong dir="auto">{text}</strong>.</p>\n'


def _downloads(site: Site, filter: Parameters) -> str:
    links = []
    for format, suffix, label in _EXPORTS:
        address = e(with_query(f"{site.path}/", [*filter, ("format", format)]))
        links.append(f'<a href="{address}" download="bookmarks.{suffix}">{label}</a>\n')
    feed = e(feed_address(site, filter))
    links.append(f'<a href="{feed}">Feed (Atom)</a>')
    content = "".join(links)
    return f'<p class="links">{content}</p>\n'


def _similar(site: Site, groups: list[Group]) -> str:
    if not groups:
        return "<p>No two bookmarks have addresses that differ only a little.</p>\n"
    items = []
    for group in groups[:_MAX_GROUPS]:
        members = "<br>".join([_member(site, bookmark) for bookmark in group])
        items.append(f"<li>{members}</li>\n")
    content = "".join(items)
    number = f"{len(groups):,}"
    return (
        f"<p>Groups: {number}. The addresses of a group differ only in http or https, "
        "www., a slash at the end, a fragment, or parameters for tracking. Open them, "
        "and delete what you have twice.</p>\n"
        f'<ul class="similar">\n{content}</ul>\n'
    )


def _member(site: Site, b: Bookmark) -> str:
    link = title_link(b)
    edit_address = f"{e(site.path)}/{b.id}"
    return f'{link} <code>{e(b.uri)}</code> <a href="{edit_address}">Edit</a>'
