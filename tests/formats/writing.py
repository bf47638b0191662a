"""Write files of bookmarks without a store."""

from formats import LISTS, LISTS_BY_NAME
from formats.listing import Listing
from storage.follower import new_entry
from storage.index import State
from storage.store import Page


def write_list(format, bookmarks):
    """Return the file of the bookmarks in this format."""
    entries = [new_entry(bookmark, b"", 0.0) for bookmark in bookmarks]
    page = Page(entries, len(entries), State(0, 0.0))
    return b"".join(LISTS[LISTS_BY_NAME[format]](Listing(lambda query: page)))
