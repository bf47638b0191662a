"""The Atom feed (RFC 4287), in pages (RFC 5005 section 3), with deletions (RFC 6721)."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote
from xml.sax.saxutils import escape

from formats.base_url import BaseUrl, with_query
from formats.listing import Listing
from formats.xml import escape_attribute
from storage.bookmark import Bookmark, Tombstone, replace_invalid_xml_chars

# RFC 3987 section 2.2: the non-ASCII characters of an IRI, without those of private use.
_UCSCHAR = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U000e1000-\U000efffd" + "".join(
    f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14)
)
# Section 4.1 excludes U+200E to U+202E. Unicode added the others after the RFC.
_BIDI_FORMATTING = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TO_PERCENT_ENCODE = re.compile(
    rf'["<>\\^`{{|}}\[\]{_BIDI_FORMATTING}]|%(?![0-9A-Fa-f]{{2}})|[^!-~{_UCSCHAR}]'
)
# The part of a uri that may contain brackets: up to an IP address in the host.
_UP_TO_IP_LITERAL = re.compile(
    r"[A-Za-z0-9+.-]+://(?:[A-Za-z0-9._~!$&'()*+,;=:%-]*@)?\[[A-Za-z0-9:.%_~-]+\]"
)
_RELATIONS = {"first": "first", "prev": "previous", "next": "next", "last": "last"}


def write(bookmarks: Iterable[Bookmark], listing: Listing) -> Iterator[bytes]:
    """Write a feed of the bookmarks and of the deletions of the page."""
    yield _head(listing).encode()
    for tombstone in listing.page.tombstones:
        yield _deleted_entry(tombstone).encode()
    for bookmark in bookmarks:
        yield _entry(bookmark, listing.base).encode()
    yield b"</feed>\n"


def _head(listing: Listing) -> str:
    tags = ", ".join(value for name, value in listing.filter if name == "tag")
    title = f"Bookmarks: {replace_invalid_xml_chars(tags)}" if tags else "Bookmarks"
    # All pages of one feed have the same id (RFC 5005 section 3).
    id = with_query(f"{listing.base.url}/feed", listing.filter)
    own, home = escape_attribute(listing.address), escape_attribute(f"{listing.base.url}/")
    links = "".join(
        f'<link rel="{_RELATIONS[name]}" href="{escape_attribute(url)}"/>\n'
        for name, url in listing.links.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:at="http://purl.org/atompub/tombstones/1.0">\n'
        f"<id>{escape(id)}</id>\n"
        f"<title>{escape(title)}</title>\n"
        f"<updated>{listing.page.state.modified}</updated>\n"
        "<author><name>Bookmarks</name></author>\n"
        f'<link rel="self" type="application/atom+xml" href="{own}"/>\n'
        f'<link rel="alternate" type="text/html" href="{home}"/>\n{links}'
    )


def _entry_id(id: str) -> str:
    """Return the bookmark's atom:id, the same at every address (RFC 4287 section 4.2.6)."""
    return f"urn:x-bookmarks:{id}"


def _entry(b: Bookmark, base: BaseUrl) -> str:
    own = escape_attribute(base.bookmark(b.id))
    content = f'<content type="text">{escape(b.description)}</content>\n' if b.description else ""
    categories = "".join(f'<category term="{escape_attribute(tag)}"/>\n' for tag in b.tags)
    return (
        f"<entry>\n<id>{_entry_id(b.id)}</id>\n"
        f"<title>{escape(b.title)}</title>\n"
        f'<link rel="alternate" href="{escape_attribute(_encode_excluded(b.uri))}"/>\n'
        f'<link rel="self" href="{own}"/>\n<link rel="related" href="{own}"/>\n'
        f"<published>{b.created}</published>\n<updated>{b.modified}</updated>\n"
        f"{categories}{content}</entry>\n"
    )


def _encode_excluded(uri: str) -> str:
    """Return the uri with the characters percent-encoded that RFC 3987 excludes from an IRI."""
    head, mark, fragment = uri.partition("#")
    if "#" not in fragment and not _TO_PERCENT_ENCODE.search(uri):
        return uri
    literal = _UP_TO_IP_LITERAL.match(head)
    start = literal.end() if literal else 0
    return head[:start] + _percent_encode(head[start:]) + mark + _percent_encode(fragment)


def _percent_encode(text: str) -> str:
    return _TO_PERCENT_ENCODE.sub(lambda match: quote(match[0]), text).replace("#", "%23")


def _deleted_entry(tombstone: Tombstone) -> str:
    return f'<at:deleted-entry ref="{_entry_id(tombstone.id)}" when="{tombstone.deleted}"/>\n'
