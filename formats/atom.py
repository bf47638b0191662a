"""The Atom feed (RFC 4287), in pages (RFC 5005 section 3), with deletions (RFC 6721)."""

import re
from collections.abc import Iterator
from urllib.parse import quote
from xml.sax.saxutils import escape

from formats.listing import Listing, Site, with_query
from formats.xml import escape_attribute
from storage.bookmark import Bookmark, replace_invalid_xml_chars

# Links in Atom must be IRIs, so `_iri` percent-encodes other non-ASCII characters than these, the
# `ucschar` of RFC 3987 section 2.2.
_UCSCHAR = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U000e1000-\U000efffd" + "".join(
    f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14)
)
# Characters that set the direction of text. RFC 3987 section 4.1 excludes those below U+202F;
# Unicode added U+2066 to U+2069 after the RFC.
_BIDI_FORMATTING = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TO_PERCENT_ENCODE = re.compile(
    # An excluded character, a % without two hex digits, or neither visible ASCII nor _UCSCHAR.
    rf'["<>\\^`{{|}}\[\]{_BIDI_FORMATTING}]|%(?![0-9A-Fa-f]{{2}})|[^!-~{_UCSCHAR}]'
)
# The beginning of a uri whose host is an IP address in brackets, such as `http://[::1]`: `_iri`
# keeps these brackets, and percent-encodes others, which an IRI excludes.
_UP_TO_HOST_IN_BRACKETS = re.compile(
    r"[A-Za-z0-9+.-]+://(?:[A-Za-z0-9._~!$&'()*+,;=:%-]*@)?\[[A-Za-z0-9:.%_~-]+\]"
)
# The names in `Listing.links` are those of the Link header; RFC 5005 says `previous` for `prev`.
_RELATION_BY_LINK_NAME = {"first": "first", "prev": "previous", "next": "next", "last": "last"}


def write(listing: Listing) -> Iterator[bytes]:
    """Write a feed of the bookmarks and of the deletions of the page."""
    yield _head(listing).encode()
    for tombstone in listing.selection.tombstones:
        ref, when = _entry_id(tombstone.id), tombstone.deleted
        yield f'<at:deleted-entry ref="{ref}" when="{when}"/>\n'.encode()
    for bookmark in listing.bookmarks:
        yield _entry(bookmark, listing.site).encode()
    yield b"</feed>\n"


def _head(listing: Listing) -> str:
    tags = ", ".join(value for name, value in listing.filter if name == "tag")
    title = f"Bookmarks: {replace_invalid_xml_chars(tags)}" if tags else "Bookmarks"
    # All pages of one feed have the same id (RFC 5005 section 3).
    id = with_query(f"{listing.site.url}/feed", listing.filter)
    feed_url = escape_attribute(with_query(f"{listing.site.url}/feed", listing.view.parameters))
    home_url = escape_attribute(f"{listing.site.url}/")
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
        # The last change of the whole collection, even if the feed has only a part of it.
        f"<updated>{listing.selection.latest}</updated>\n"
        "<author><name>Bookmarks</name></author>\n"
        f'<link rel="self" type="application/atom+xml" href="{feed_url}"/>\n'
        f'<link rel="alternate" type="text/html" href="{home_url}"/>\n{links}'
    )


def _entry_id(id: str) -> str:
    """Return the bookmark's atom:id, the same at every address (RFC 4287 section 4.2.6)."""
    return f"urn:x-bookmarks:{id}"


def _entry(b: Bookmark, site: Site) -> str:
    entry_url = escape_attribute(site.bookmark(b.id))
    bookmark_iri = escape_attribute(_iri(b.uri))
    content = f'<content type="text">{escape(b.description)}</content>\n' if b.description else ""
    categories = "".join(f'<category term="{escape_attribute(tag)}"/>\n' for tag in b.tags)
    return (
        f"<entry>\n<id>{_entry_id(b.id)}</id>\n"
        f"<title>{escape(b.title)}</title>\n"
        f'<link rel="alternate" href="{bookmark_iri}"/>\n'
        # The bookmark's address in this service: clients may look for `self` or for `related`.
        f'<link rel="self" href="{entry_url}"/>\n<link rel="related" href="{entry_url}"/>\n'
        f"<published>{b.created}</published>\n<updated>{b.modified}</updated>\n"
        f"{categories}{content}</entry>\n"
    )


def _iri(uri: str) -> str:
    """Return the uri as an IRI: characters that RFC 3987 excludes are percent-encoded."""
    head, number_sign, fragment = uri.partition("#")
    match = _UP_TO_HOST_IN_BRACKETS.match(head)  # The brackets around an IP address stay.
    start = match.end() if match else 0
    return head[:start] + _percent_encode(head[start:]) + number_sign + _percent_encode(fragment)


def _percent_encode(text: str) -> str:
    """Percent-encode the characters that an IRI excludes, such as a `#` inside a fragment."""
    return _TO_PERCENT_ENCODE.sub(lambda match: quote(match[0]), text).replace("#", "%23")
