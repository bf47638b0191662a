"""Write files of bookmarks without a store."""

from formats import LISTS
from formats.listing import Listing
from storage.index import Index, Page


def write_list(format, bookmarks):
    """Return the file of the bookmarks in this format."""
    page = Page(bookmarks, len(bookmarks), Index().state)
    return b"".join(LISTS[format].write(bookmarks, Listing(page)))
