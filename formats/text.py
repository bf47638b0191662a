"""Plain text: the lines are uri TAB title TAB tags."""

from collections.abc import Iterator, Sequence

from formats.listing import Listing
from storage.errors import Malformed


def write(listing: Listing) -> Iterator[bytes]:
    for bookmark in listing.bookmarks:
        yield f"{bookmark.uri}\t{bookmark.title}\t{','.join(bookmark.tags)}\n".encode()


def write_value(value: str | Sequence[str]) -> bytes:
    """Write a field, with one line for each tag."""
    if isinstance(value, str):
        return value.encode()
    return "\n".join(value).encode()


def read_value(body: bytes) -> str:
    """Decode a field. Raises Malformed."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("The body is not UTF-8.") from None
