"""The Atom feed (RFC 4287, 5005 and 6721)."""

import re
from collections.abc import Iterator
from urllib.parse import quote
from xml.sax.saxutils import escape

from formats.listing import Listing, Site, with_query
from formats.xml import escape_attribute
from storage.bookmark import Bookmark, replace_invalid_xml_chars


def _ucschar_ranges() -> str:
    """Return the non-ASCII characters of an IRI (RFC 3987) as ranges for a character class."""
    ranges = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    for plane in range(1, 14):  # The last two code points of a plane are no characters.
        first = plane * 0x10000
        last = first + 0xFFFD
        ranges += f"{chr(first)}-{chr(last)}"
    return ranges + "\U000e1000-\U000efffd"


_TO_PERCENT_ENCODE = re.compile(
    r'["<>\\^`{|}\[\]]'  # ASCII that an IRI must not have.
    r"|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # Marks of direction (RFC 3987 section 4.1).
    r"|%(?![0-9A-Fa-f]{2})"  # A % without two hex digits.
    rf"|[^!-~{_ucschar_ranges()}]"  # Neither ASCII nor `ucschar`.
)
# Only an IPv6 address may be in brackets, as in `http://user@[::1]`.
_UP_TO_HOST_IN_BRACKETS = re.compile(
    r"[A-Za-z0-9+.-]+://"
    r"(?:[A-Za-z0-9._~!$&'()*+,;=:%-]*@)?"  # The user.
    r"\[[A-Za-z0-9:.%_~-]+\]"
)


def write(listing: Listing) -> Iterator[bytes]:
    yield _head(listing).encode()
    for tombstone in listing.selection.tombstones:
        ref = _entry_id(tombstone.id)
        yield f'<at:deleted-entry ref="{ref}" when="{tombstone.deleted}"/>\n'.encode()
    for bookmark in listing.bookmarks:
        yield _entry(bookmark, listing.site).encode()
    yield b"</feed>\n"


def _head(listing: Listing) -> str:
    # All pages of a feed have the same id (RFC 5005 section 3).
    id = escape(with_query(f"{listing.site.url}/feed", listing.filter))
    title = escape(_title(listing))
    self_url = escape_attribute(listing.address)
    home_url = escape_attribute(f"{listing.site.url}/")
    links = _page_links(listing)
    updated = listing.selection.latest
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0">
<id>{id}</id>
<title>{title}</title>
<updated>{updated}</updated>
<author><name>Bookmarks</name></author>
<link rel="self" type="application/atom+xml" href="{self_url}"/>
<link rel="alternate" type="text/html" href="{home_url}"/>
{links}"""


def _title(listing: Listing) -> str:
    tags = [value for name, value in listing.filter if name == "tag"]
    if not tags:
        return "Bookmarks"
    return f"Bookmarks: {replace_invalid_xml_chars(', '.join(tags))}"


def _page_links(listing: Listing) -> str:
    links = ""
    for name, url in listing.links.items():
        relation = name
        if name == "prev":
            relation = "previous"  # RFC 5005 section 3
        links += f'<link rel="{relation}" href="{escape_attribute(url)}"/>\n'
    return links


def _entry_id(id: str) -> str:
    return f"urn:x-bookmarks:{id}"


def _entry(bookmark: Bookmark, site: Site) -> str:
    id = _entry_id(bookmark.id)
    title = escape(bookmark.title)
    iri = escape_attribute(_iri(bookmark.uri))
    # Some clients read the link `self`, others the link `related`.
    url = escape_attribute(site.bookmark_url(bookmark.id))
    categories = "".join(
        f'<category term="{escape_attribute(tag)}"/>\n' for tag in bookmark.tags
    )
    content = ""
    if bookmark.description:
        content = f'<content type="text">{escape(bookmark.description)}</content>\n'
    return f"""\
<entry>
<id>{id}</id>
<title>{title}</title>
<link rel="alternate" href="{iri}"/>
<link rel="self" href="{url}"/>
<link rel="related" href="{url}"/>
<published>{bookmark.created}</published>
<updated>{bookmark.modified}</updated>
{categories}{content}</entry>
"""


def _iri(uri: str) -> str:
    """Percent-encode the characters that an IRI must not have."""
    head, number_sign, fragment = uri.partition("#")
    unencoded_start = ""
    if match := _UP_TO_HOST_IN_BRACKETS.match(head):
        unencoded_start = match[0]
        head = head.removeprefix(unencoded_start)
    return unencoded_start + _percent_encode(head) + number_sign + _percent_encode(fragment)


def _percent_encode(text: str) -> str:
    encoded = _TO_PERCENT_ENCODE.sub(lambda match: quote(match[0]), text)
    return encoded.replace("#", "%23")  # Only the `#` before the fragment may stay.
