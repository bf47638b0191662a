"""Plain text for grep and cut: one line a bookmark, uri TAB title TAB tags.

It reads also what others write so: `text/uri-list` (RFC 2483 section 5) and OneTab's lines.
"""

import re
from collections.abc import Iterable, Iterator

from formats import decode
from formats.errors import Malformed
from formats.item import MAX_ENTRY, TOO_LARGE, Item, Stream, item
from formats.view import View
from storage.bookmark import Bookmark, split_tags

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,99}:[^\s\x00-\x1f\x7f-\x9f]+")


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """One line each. No field can hold a TAB or a line break, so nothing needs escaping."""
    for b in bookmarks:
        yield f"{b.uri}\t{b.title}\t{','.join(b.tags)}\n".encode()


def write_field(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """The value of the view's field as it is; tags one on each line."""
    for bookmark in bookmarks:
        value = getattr(bookmark, view.field)
        yield ("\n".join(value) if view.field == "tags" else value).encode()


def read_value(body: bytes) -> str:
    """A field's value. Raises Malformed."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"The body is not UTF-8 text: {error}.") from None


def read_file(stream: Stream) -> Iterator[Item]:
    """Each line that is neither empty nor a comment."""
    for number, line in enumerate(decode.lines(decode.text(stream)), 1):
        if len(line) > MAX_ENTRY:
            yield Item(number, {}, TOO_LARGE)
        elif (line := line.strip()) and not line.startswith("#"):
            yield _read(number, line)


def begins_with_uri(line: str) -> bool:
    """Whether the line is one of those that are read here."""
    return bool(_URI.fullmatch(str(_fields(line)["uri"])))


def _read(number: int, line: str) -> Item:
    if not begins_with_uri(line):
        return Item(number, {"uri": line}, "does not begin with a uri")
    return item(number, _fields(line))


def _fields(line: str) -> dict[str, object]:
    uri, tab, rest = line.partition("\t")
    if not tab:
        # A title may be empty, and the space before it then cut off.
        uri, bar, title = f"{line} ".partition(" | ")
        return {"uri": uri.strip(), "title": title.strip()} if bar else {"uri": line}
    title, _, tags = rest.partition("\t")
    return {"uri": uri.strip(), "title": title.strip(), "tags": split_tags(tags)}
