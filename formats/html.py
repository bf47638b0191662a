"""The pages for people: the list, one bookmark, a form, and what went wrong."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote_plus, urlencode, urlsplit

from formats.editor import LABELS, NEW, delete_form, fields_of, form
from formats.frame import END, begin, cut, e, feed, hidden
from formats.problempage import write_problem
from formats.start import bookmarklet, import_form, start
from formats.validators import version_text
from formats.view import View, address
from storage.bookmark import Bookmark, fold

__all__ = ["MEDIA_TYPE", "TAGS_SHOWN", "write", "write_form", "write_one", "write_problem"]

MEDIA_TYPE = "text/html; charset=utf-8"
TAGS_SHOWN = 60

# Longer ones are cut, but in the form, which has all of them.
MAX_TITLE, MAX_DESCRIPTION, MAX_URI = 300, 600, 200
# What most uris begin with: to find the host there costs less than to take all of one apart.
_PLAIN_HOST = re.compile("https?://([a-z0-9.-]+)(?::[0-9]+)?(?:[/?#]|$)")

# A uri of another scheme is shown, but cannot be clicked: `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """The list with its filter, its pages, its tags and a form to add a bookmark."""
    is_empty = not view.total and not view.filter
    yield begin(_title(view), view, is_list=True).encode()
    yield b'<div class="columns">\n<main id="main">\n'
    yield (_welcome(view) if is_empty else _list_head(view)).encode()
    link, path = _tag_links(view), str(e(view.path))
    yield b'<ol class="list">\n' if view.total else b""
    for bookmark, version in zip(bookmarks, view.versions, strict=True):
        yield _item(bookmark, version_text(version), path, link).encode()
    yield b"</ol>\n" if view.total else b""
    yield f"{_pages(view)}</main>\n{'' if is_empty else _aside(view, link)}</div>\n{END}".encode()


def write_one(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """One bookmark with the form that changes it and the one that deletes it."""
    for b in bookmarks:
        action, version = f"{view.path}/{b.id}", version_text(view.version)
        changed = f"changed {_time(b.modified)}" if b.modified != b.created else ""
        told = (_host(b.uri), f"saved {_time(b.created)}", changed)
        yield (
            f'{begin(b.title, view)}<main id="main" class="single">\n'
            f"<h1>{_link(b)}</h1>\n"
            f'<p class="meta">{" · ".join(filter(None, told))}</p>\n'
            f"{form(action, fields_of(b), version)}"
            f"{delete_form(action, version)}</main>\n{END}"
        ).encode()


def write_form(fields: Mapping[str, str], view: View) -> Iterator[bytes]:
    """A form to add a bookmark, filled in with these fields; the first empty one has the focus."""
    filled = {name: fields.get(name, "") for name in LABELS}
    empty = next((name for name in LABELS if not filled[name]), "")
    filled_in = form(f"{view.path}/", filled, NEW, focus=empty)
    yield (
        f'{begin("Add a bookmark", view)}<main id="main" class="single">\n'
        f"<h1>Add a bookmark</h1>\n{filled_in}</main>\n{END}"
    ).encode()


def write_report(summary: str, skipped: Sequence[tuple[int, str, str]], view: View) -> bytes:
    """What became of an imported file: the numbers, and each skipped line with its reason."""
    rows = "".join(
        f'<tr><td>{line}</td><td dir="auto">{e(value)}</td><td>{e(reason)}</td></tr>\n'
        for line, value, reason in skipped
    )
    table = (
        '<table class="skipped">\n<caption>What was skipped, and why</caption>\n'
        '<thead><tr><th scope="col">Line</th><th scope="col">Entry</th>'
        f'<th scope="col">Reason</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n'
    )
    return (
        f'{begin("Imported", view)}<main id="main" class="single">\n<h1>Imported</h1>\n'
        f'<p role="status">{e(summary)}</p>\n{table if rows else ""}'
        f'<p><a class="button" href="{e(view.path)}/">All bookmarks</a></p>\n</main>\n{END}'
    ).encode()


# --- The list's head ---


def _title(view: View) -> str:
    return " · ".join(value for _, value in view.filter) or "All bookmarks"


def _list_head(view: View) -> str:
    return (
        f'<div class="head">\n<h1 dir="auto">{e(_title(view))}</h1>\n'
        f'<p class="total" role="status">{_total(view)}</p>\n'
        f'<p class="jump"><a href="#more">Tags and tools</a></p>\n</div>\n{_filter(view)}'
        '<details class="new" id="new"><summary>Add a bookmark</summary>\n'
        f'{form(f"{view.path}/", {}, NEW)}</details>\n{"" if view.total else _no_match(view)}'
        # Each item's button sends this form, to the item's address and with the item's version.
        f'<form id="delete" method="post" action="{e(view.path)}/">'
        f"{hidden('_method', 'DELETE')}</form>\n"
    )


def _total(view: View) -> str:
    shown = len(view.versions)
    number = f"{view.total:,} {'bookmark' if view.total == 1 else 'bookmarks'}"
    if shown == view.total or not shown:
        return number
    return f"{view.offset + 1:,} to {view.offset + shown:,} of {number}"


def _filter(view: View) -> str:
    """The tags and words of the filter, each a link to the list without it."""
    if not view.filter:
        return ""
    off = (
        f'<a href="{e(address(f"{view.path}/", [p for p in view.filter if p != pair]))}" '
        f'class="{pair[0]}"><span class="unseen">Without </span>'
        f'<bdi>{e(pair[1])}</bdi> <span aria-hidden="true">×</span></a>\n'
        for pair in view.filter
    )
    return f'<p class="filter"><span>Only </span>{"".join(off)}</p>\n'


def _no_match(view: View) -> str:
    return (
        '<p class="nothing">No bookmark has all of this. Take something off the filter, or '
        f'<a href="{e(view.path)}/">see all bookmarks</a>.</p>\n'
    )


def _welcome(view: View) -> str:
    return f'{start(view)}<h2>Add the first one</h2>\n{form(f"{view.path}/", {}, NEW)}'


# --- Its items ---


def _tag_links(view: View) -> Callable[[str], str]:
    """What makes of a tag an open link that adds it to the filter; most come again and again."""
    start = e(f"{view.path}/?{urlencode([*view.filter, ('tag', '')])}")
    here = e(address(f"{view.path}/", view.filter))
    chosen = _chosen(view)

    @functools.cache
    def link(tag: str) -> str:
        if fold(tag) in chosen:
            return f'<a href="{here}" aria-current="true"><bdi>{e(tag)}</bdi>'
        # What is quoted for a query needs no escaping besides.
        return f'<a href="{start}{quote_plus(tag)}"><bdi>{e(tag)}</bdi>'

    return link


def _chosen(view: View) -> set[str]:
    return {fold(tag.strip()) for tag in view.tags}


def _item(b: Bookmark, version: str, path: str, link: Callable[[str], str]) -> str:
    tags = "".join(f"{link(tag)}</a> " for tag in b.tags)
    description = (
        f'<p dir="auto">{e(cut(b.description, MAX_DESCRIPTION))}</p>\n' if b.description else ""
    )
    return (
        f"<li>\n<h2>{_link(b)}</h2> {_host(b.uri)}\n"
        f'{description}<p class="meta">{_time(b.created)} <span class="tags">{tags}</span>'
        f'<span class="actions"><a class="edit" href="{path}/{b.id}">Edit</a> '
        f'<button form="delete" formaction="{path}/{b.id}" name="_version" value="{version}">'
        "Delete</button></span></p>\n</li>\n"
    )


def _link(b: Bookmark) -> str:
    title = e(cut(b.title, MAX_TITLE))
    if b.uri.partition(":")[0].lower() in LINKED_SCHEMES:
        return f'<a href="{e(b.uri)}" dir="auto">{title}</a>'
    return f'<span dir="auto">{title}</span> <code>{e(cut(b.uri, MAX_URI))}</code>'


def _host(uri: str) -> str:
    try:
        plain = _PLAIN_HOST.match(uri)
        host = plain[1] if plain else urlsplit(uri).hostname
    except ValueError:
        return ""
    return f'<span class="host">{e(cut(host.removeprefix("www."), MAX_URI))}</span>' if host else ""


def _time(moment: str) -> str:
    return f'<time datetime="{moment}">{moment[:10]}</time>'


# --- What stands below and beside them ---

_PAGE_LABELS = {"first": "First", "prev": "Newer", "next": "Older", "last": "Last"}


def _pages(view: View) -> str:
    """Links to the other pages, if there are any."""
    if not {"prev", "next"} & set(view.links):
        return ""
    links = (
        f'<a href="{e(url)}"{f" rel={name}" if name in ("prev", "next") else ""}>'
        f"{_PAGE_LABELS[name]}</a>\n"
        for name, url in view.links.items()
    )
    return f'<nav class="pages" aria-label="Pages">\n{"".join(links)}</nav>\n'


def _aside(view: View, link: Callable[[str], str]) -> str:
    exports = "\n".join(
        f'<a href="{e(address(f"{view.path}/", [*view.filter, ("format", name)]))}">{name}</a>'
        for name in view.exports
    )
    return (
        f'<aside id="more" aria-label="Tags and tools">\n{_tags(view, link)}'
        '<section>\n<h2>These bookmarks</h2>\n<p class="links">'
        f'<a href="{e(feed(view))}">Feed</a>\n{exports}</p>\n</section>\n'
        f"<section>\n<h2>Add from anywhere</h2>\n{bookmarklet(view)}</section>\n"
        f"<section>\n<h2>Import</h2>\n{import_form(view)}</section>\n</aside>\n"
    )


def _tags(view: View, link: Callable[[str], str]) -> str:
    """The tags that the selection has most often, each of which narrows it."""
    chosen = _chosen(view)
    items = "".join(
        f"<li>{link(tag)} <span>{count:,}</span></a></li>\n"
        for tag, count in view.counts
        if fold(tag) not in chosen
    )
    if not items:
        return ""
    return f'<section>\n<h2>Tags</h2>\n<ul class="cloud">\n{items}</ul>\n</section>\n'
