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
# Characters that set the direction of text. RFC 3987 section 4.1 excludes those below U+202F;
# Unicode added U+2066 to U+2069 after the RFC.
_BIDI_FORMATTING = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TO_PERCENT_ENCODE = re.compile(
    # A character that an IRI excludes, a % without two digits, or neither ASCII nor _UCSCHAR.
    rf'["<>\\^`{{|}}\[\]{_BIDI_FORMATTING}]|%(?![0-9A-Fa-f]{{2}})|[^!-~{_UCSCHAR}]'
)
# The part of a uri that may contain brackets: up to the IP address in brackets that is its host.
_UP_TO_IP_LITERAL = re.compile(
    r"[A-Za-z0-9+.-]+://(?:[A-Za-z0-9._~!$&'()*+,;=:%-]*@)?\[[A-Za-z0-9:.%_~-]+\]"
)
# The relation of RFC 5005 for each name in `Listing.links`, which are those of the Link header.
_RELATION_BY_LINK_NAME = {"first": "first", "prev": "previous", "next": "next", "last": "last"}


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
    feed_url = escape_attribute(listing.address)
    home_url = escape_attribute(f"{listing.base.url}/")
    links = "".join(
        f'<link rel="{_RELATION_BY_LINK_NAME[name]}" href="{escape_attribute(url)}"/>\n'
        for name, url in listing.links.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:at="http://purl.org/atompub/tombstones/1.0">\n'
        f"<id>{escape(id)}</id>\n"
        f"<title>{escape(title)}</title>\n"
        f"<updated>{listing.page.state.modified}</updated>\n"  # Of the whole collection.
        "<author><name>Bookmarks</name></author>\n"
        f'<link rel="self" type="application/atom+xml" href="{feed_url}"/>\n'
        f'<link rel="alternate" type="text/html" href="{home_url}"/>\n{links}'
    )


def _entry_id(id: str) -> str:
    """Return the bookmark's atom:id, the same at every address (RFC 4287 section 4.2.6)."""
    return f"urn:x-bookmarks:{id}"


def _entry(b: Bookmark, base: BaseUrl) -> str:
    entry_url = escape_attribute(base.bookmark(b.id))
    bookmark_iri = escape_attribute(_iri(b.uri))
    content = f'<content type="text">{escape(b.description)}</content>\n' if b.description else ""
    categories = "".join(f'<category term="{escape_attribute(tag)}"/>\n' for tag in b.tags)
    return (
        f"<entry>\n<id>{_entry_id(b.id)}</id>\n"
        f"<title>{escape(b.title)}</title>\n"
        f'<link rel="alternate" href="{bookmark_iri}"/>\n'
        # Clients may look for the bookmark in this service under either relation.
        f'<link rel="self" href="{entry_url}"/>\n<link rel="related" href="{entry_url}"/>\n'
        f"<published>{b.created}</published>\n<updated>{b.modified}</updated>\n"
        f"{categories}{content}</entry>\n"
    )


def _iri(uri: str) -> str:
    """Return the uri as an IRI: characters that RFC 3987 excludes are percent-encoded."""
    head, number_sign, fragment = uri.partition("#")
    is_iri = "#" not in fragment and not _TO_PERCENT_ENCODE.search(uri)
    if is_iri:
        return uri
    literal = _UP_TO_IP_LITERAL.match(head)
    start = literal.end() if literal else 0
    return head[:start] + _percent_encode(head[start:]) + number_sign + _percent_encode(fragment)


def _percent_encode(text: str) -> str:
    """Percent-encode the characters that an IRI excludes, and `#`, which only begins a fragment."""
    return _TO_PERCENT_ENCODE.sub(lambda match: quote(match[0]), text).replace("#", "%23")


def _deleted_entry(tombstone: Tombstone) -> str:
    return f'<at:deleted-entry ref="{_entry_id(tombstone.id)}" when="{tombstone.deleted}"/>\n'
