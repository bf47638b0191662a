"""Write files of bookmarks without a store."""

from formats import LISTS, LISTS_BY_NAME
from formats.listing import Listing
from storage.follower import new_entry
from storage.index import State
from storage.query import Query
from storage.selection import Selection


def write_list(format, bookmarks):
    oldest_first = [new_entry(bookmark, 0, 0.0) for bookmark in reversed(bookmarks)]
    listing = Listing(Selection(Query(), State(0, 0.0), oldest_first, (), "", 0, {}))
    return b"".join(LISTS[LISTS_BY_NAME[format]](listing))
