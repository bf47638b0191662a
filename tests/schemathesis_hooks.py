"""What schemathesis cannot make of the description: documents that are no JSON, true dates."""

import schemathesis
from hypothesis import strategies as st

from formats import LISTS
from formats.view import View
from storage.bookmark import Bookmark

MOMENT = st.datetimes().map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0"))
WORD = st.text("abcdefghijklmnopqrstuvwxyzäöüßñ日本語 <>&'\"=+-@", min_size=1, max_size=9).map(
    lambda text: text.strip() or "x"
)
BOOKMARK = st.builds(
    Bookmark,
    id=st.from_regex("x[a-z0-9_-]{0,9}", fullmatch=True),
    uri=st.from_regex("https://[a-z]{1,9}[.]example/[!-~]{0,20}", fullmatch=True),
    title=WORD,
    description=WORD,
    tags=st.lists(WORD, max_size=3, unique_by=str.lower).map(tuple),
    created=MOMENT,
    modified=MOMENT,
)


def written(name: str, bookmarks: st.SearchStrategy) -> st.SearchStrategy[bytes]:
    """What this service writes of such bookmarks in the named format."""
    return bookmarks.map(lambda found: b"".join(LISTS[name].write(found, View(""))))


XBEL = written("xbel", BOOKMARK.map(lambda bookmark: [bookmark])).map(
    lambda document: document.replace(b' id="b-', b' x="b-')  # It would have to be the address's.
)
schemathesis.openapi.media_type("application/x-xbel", XBEL)
for name in LISTS["xbel"].also:
    schemathesis.openapi.media_type(name, XBEL)
schemathesis.openapi.media_type("text/csv", written("csv", st.lists(BOOKMARK, max_size=3)))
schemathesis.openapi.media_type("text/html", written("netscape", st.lists(BOOKMARK, max_size=3)))
schemathesis.openapi.format("date-time", MOMENT)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Remove the limits of length: strings of 65,536 characters take most of the time, and
    test_description.py covers the limits.
    """
    for schema in raw_schema["components"]["schemas"].values():
        schema.pop("maxLength", None)


@schemathesis.hook
def map_headers(context, headers):
    """Most entity tags that one can think of stop a request before anything else is tried."""
    if headers and len(headers.get("If-Match", "")) % 4:
        del headers["If-Match"]
    return headers
