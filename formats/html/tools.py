"""The page of rarely needed tools."""

from formats.html import frame
from formats.html.frame import e, feed_address, link_button, number_of_bookmarks
from formats.html.start import bookmarklet, import_form
from formats.listing import Parameters, Site, View, with_query

# Format, suffix and label of each download.
_EXPORTS = (
    ("netscape", "html", "Bookmark file (HTML)"),
    ("csv", "csv", "Spreadsheet (CSV)"),
    ("json", "json", "All fields (JSON)"),
    ("xbel", "xbel", "XBEL (XML)"),
    ("text", "txt", "Plain text"),
)


def write_tools(view: View, total: int) -> str:
    """Return the page. Its downloads keep the filter of the query."""
    site = view.site
    filter = [parameter for parameter in view.parameters if parameter[0] in ("tag", "q")]
    main = ""
    if not site.is_visitor:
        main += _section("Add from any page", bookmarklet(site))
        main += _section("Import", import_form(site))
    downloads = _filter_text(filter) + _downloads(site, filter)
    main += _section(f"Download {number_of_bookmarks(total)}", downloads)
    begin = frame.begin("Tools", site, current="tools")
    return (
        f'{begin}<div class="columns">\n<main id="main" class="single">\n<h1>Tools</h1>\n'
        f"{main}</main>\n{_aside(site)}</div>\n{frame.END}"
    )


def _aside(site: Site) -> str:
    if site.is_visitor:
        return ""
    trash = link_button("See deleted bookmarks", f"{site.path}/-/trash")
    text = f"<p>Bookmarks you can put back.</p>\n<p>{trash}</p>\n"
    sections = _section("Recently deleted", text)
    similar = link_button("Find similar addresses", f"{site.path}/-/similar")
    text = f"<p>Bookmarks you may have twice.</p>\n<p>{similar}</p>\n"
    sections += _section("Similar addresses", text)
    # script.js adds the button "Keyboard shortcuts" after the empty element.
    return f'<aside aria-label="Tidying up">\n{sections}<div id="more"></div>\n</aside>\n'


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
    return f'<p>Only the bookmarks of the list <strong dir="auto">{text}</strong>.</p>\n'


def _downloads(site: Site, filter: Parameters) -> str:
    links = ""
    for format, suffix, label in _EXPORTS:
        address = e(with_query(f"{site.path}/", [*filter, ("format", format)]))
        links += f'<a href="{address}" download="bookmarks.{suffix}">{label}</a>\n'
    feed = e(feed_address(site, filter))
    return f'<p class="links">{links}<a href="{feed}">Feed (Atom)</a></p>\n'
