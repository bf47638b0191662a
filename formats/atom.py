"""The feed: Atom (RFC 4287), paged (RFC 5005 section 3), with its deletions (RFC 6721)."""

from collections.abc import Iterable, Iterator

from formats.view import View, address
from formats.xml import attribute, text
from storage.bookmark import Bookmark, Tombstone, fit

_RELATIONS = {"first": "first", "prev": "previous", "next": "next", "last": "last"}


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """A feed document of these bookmarks and of the view's tombstones."""
    yield _head(view).encode()
    for tombstone in view.tombstones:
        yield _deleted(tombstone).encode()
    for bookmark in bookmarks:
        yield _entry(bookmark, view).encode()
    yield b"</feed>\n"


def _head(view: View) -> str:
    title = f"Bookmarks: {fit(', '.join(view.tags))}" if view.tags else "Bookmarks"
    # The same on every page of the feed: RFC 5005 section 3.
    identity = address(f"{view.base}/feed", view.filter)
    links = "".join(
        f'<link rel="{_RELATIONS[name]}" href="{attribute(url)}"/>\n'
        for name, url in view.links.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:at="http://purl.org/atompub/tombstones/1.0">\n'
        f"<id>{text(identity)}</id>\n"
        f"<title>{text(title)}</title>\n"
        f"<updated>{view.updated}</updated>\n"
        "<author><name>Bookmarks</name></author>\n"
        f'<link rel="self" type="application/atom+xml" href="{attribute(view.address)}"/>\n'
        f'<link rel="alternate" type="text/html" href="{attribute(view.base)}/"/>\n{links}'
    )


def entry_id(id: str) -> str:
    """The bookmark's permanent atom:id, RFC 4287 section 4.2.6: the same at every address."""
    return f"urn:x-bookmarks:{id}"


def _entry(b: Bookmark, view: View) -> str:
    own = attribute(view.bookmark(b.id))
    content = f'<content type="text">{text(b.description)}</content>\n' if b.description else ""
    categories = "".join(f'<category term="{attribute(tag)}"/>\n' for tag in b.tags)
    return (
        f"<entry>\n<id>{entry_id(b.id)}</id>\n"
        f"<title>{text(b.title)}</title>\n"
        f'<link rel="alternate" href="{attribute(b.uri)}"/>\n'
        f'<link rel="self" href="{own}"/>\n<link rel="related" href="{own}"/>\n'
        f"<published>{b.created}</published>\n<updated>{b.modified}</updated>\n"
        f"{categories}{content}</entry>\n"
    )


def _deleted(tombstone: Tombstone) -> str:
    return f'<at:deleted-entry ref="{entry_id(tombstone.id)}" when="{tombstone.deleted}"/>\n'
