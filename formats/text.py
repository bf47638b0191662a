"""Plain text for grep and cut: one line a bookmark, uri TAB title TAB tags."""

from collections.abc import Iterable, Iterator

from formats.errors import Malformed
from formats.view import View
from storage.bookmark import Bookmark


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
