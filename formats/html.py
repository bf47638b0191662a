"""The pages for people."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from markupsafe import Markup

from formats.view import View, address
from storage.bookmark import Bookmark

MEDIA_TYPE = "text/html; charset=utf-8"

# A uri of another scheme is shown, but cannot be clicked: `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """The list, with its filter, its pages and a form to add a bookmark."""
    yield _start("Bookmarks", view)
    yield _filter(view).encode()
    yield b"<ol>\n"
    for bookmark in bookmarks:
        yield _item(bookmark, view).encode()
    yield b"</ol>\n"
    yield _pages(view).encode()
    yield b"<h2>Add a bookmark</h2>\n"
    yield _form(f"{view.path}/", "", "", "", "", "").encode()
    yield _END


def write_one(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """One bookmark with the form that changes it and the one that deletes it."""
    for b in bookmarks:
        yield _start(b.title, view)
        yield Markup('<p>{} <time datetime="{}">{}</time></p>\n').format(
            _link(b), b.created, b.created[:10]
        ).encode()
        action = f"{view.path}/{b.id}"
        yield _form(action, b.uri, b.title, ", ".join(b.tags), b.description, view.version).encode()
        yield _delete_form(action, view.version).encode()
        yield _END


def write_form(fields: Mapping[str, str], view: View) -> Iterator[bytes]:
    """A form to add a bookmark, filled in with these fields."""
    yield _start("Add a bookmark", view)
    uri, title, tags, description = (fields.get(name, "") for name in _FORM_FIELDS)
    yield _form(f"{view.path}/", uri, title, tags, description, "").encode()
    yield _END


def write_problem(status: int, title: str, detail: str, members: Mapping[str, object]) -> bytes:
    """An error for a person: what went wrong, and where; `members` are the problem's own."""
    heading = f"{status} {title}"
    page = Markup(_HEAD + "</head>\n<body>\n<h1>{}</h1>\n<p>{}</p>\n")
    more = Markup("").join(_member(name, value) for name, value in members.items())
    return (page.format(heading, heading, detail) + more).encode() + _END


def write_report(summary: str, skipped: Iterable[tuple[int, str, str]], view: View) -> bytes:
    """What became of an imported file: the numbers, and each skipped line with its reason."""
    rows = Markup("").join(
        Markup("<li>{}: {} {}</li>\n").format(line, value, reason)
        for line, value, reason in skipped
    )
    page = Markup("<p>{}</p>\n<ul>\n{}</ul>\n").format(summary, rows)
    return _start("Imported", view) + page.encode() + _END


def _member(name: str, value: object) -> Markup:
    if isinstance(value, list):
        return Markup("<ul>{}</ul>\n").format(
            Markup("").join(Markup("<li>{field} {reason}</li>").format(**item) for item in value)
        )
    return Markup('<p>{0}: <a href="{1}">{1}</a></p>\n').format(name.capitalize(), value)


_FORM_FIELDS = ("uri", "title", "tags", "description")

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="same-origin">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
"""

_END = b"</body>\n</html>\n"


def _start(title: str, view: View) -> bytes:
    feed = address(f"{view.path}/feed", [("tag", tag) for tag in view.tags])
    return (
        Markup(_HEAD).format(title)
        + Markup(
            '<link rel="alternate" type="application/atom+xml" title="Bookmarks" href="{}">\n'
            '</head>\n<body>\n<h1>{}</h1>\n<p><a href="{}/">All bookmarks</a></p>\n'
        ).format(feed, title, view.path)
    ).encode()


def _filter(view: View) -> Markup:
    """The search box, the filter with a way to take each tag off, and the total."""
    tags = Markup("").join(
        Markup(' <a href="{}" title="Take this tag off">{} ×</a>').format(
            address(f"{view.path}/", _pairs(view, [t for t in view.tags if t != tag])), tag
        )
        for tag in view.tags
    )
    hidden = Markup("").join(
        Markup('<input type="hidden" name="tag" value="{}">').format(tag) for tag in view.tags
    )
    noun = "bookmark" if view.total == 1 else "bookmarks"
    return Markup(
        '<form action="{}/" role="search">{}<label>Search <input type="search" name="q" '
        'value="{}"></label> <button>Search</button></form>\n<p>{} {}{}</p>\n'
    ).format(view.path, hidden, view.words, view.total, noun, tags)


def _pairs(view: View, tags: Iterable[str]) -> list[tuple[str, str]]:
    words = [("q", view.words)] if view.words else []
    return [("tag", tag) for tag in tags] + words


def _item(b: Bookmark, view: View) -> Markup:
    tags = Markup(" ").join(
        Markup('<a rel="tag" href="{}">{}</a>').format(
            address(f"{view.path}/", _pairs(view, dict.fromkeys((*view.tags, tag)))), tag
        )
        for tag in b.tags
    )
    description = Markup("<p>{}</p>").format(b.description) if b.description else ""
    return Markup(
        '<li>{}{}<p>{} <time datetime="{}">{}</time> <a href="{}/{}">Edit</a></p></li>\n'
    ).format(_link(b), description, tags, b.created, b.created[:10], view.path, b.id)


def _link(b: Bookmark) -> Markup:
    if b.uri.partition(":")[0].lower() not in LINKED_SCHEMES:
        return Markup("{} <code>{}</code>").format(b.title, b.uri)
    return Markup('<a href="{}">{}</a> {}').format(b.uri, b.title, _host(b.uri))


def _host(uri: str) -> str:
    try:
        return urlsplit(uri).hostname or ""
    except ValueError:
        return ""


def _pages(view: View) -> Markup:
    links = Markup(" ").join(
        Markup('<a rel="{}" href="{}">{}</a>').format(name, url, name.capitalize())
        for name, url in view.links.items()
    )
    return Markup('<nav aria-label="Pages">{}</nav>\n').format(links)


def _form(action: str, uri: str, title: str, tags: str, description: str, version: str) -> Markup:
    hidden = Markup('<input type="hidden" name="_version" value="{}">\n').format(version)
    return Markup(
        '<form method="post" action="{}">\n{}'
        '<p><label>URI <input name="uri" required value="{}"></label></p>\n'
        '<p><label>Title <input name="title" value="{}"></label></p>\n'
        '<p><label>Tags <input name="tags" value="{}"></label></p>\n'
        # A parser drops a line break right behind the start tag.
        '<p><label>Description <textarea name="description">\n{}</textarea></label></p>\n'
        "<p><button>Save</button></p>\n</form>\n"
    ).format(action, hidden if version else "", uri, title, tags, description)


def _delete_form(action: str, version: str) -> Markup:
    return Markup(
        '<form method="post" action="{}"><p><input type="hidden" name="_method" value="DELETE">'
        '<input type="hidden" name="_version" value="{}"><button>Delete</button></p></form>\n'
    ).format(action, version)
