"""What schemathesis cannot make of the description: documents that are no JSON, true dates."""

import schemathesis
from hypothesis import strategies as st

from formats import LISTS
from formats.view import View
from storage.bookmark import MAX_TITLE, MAX_URI, Bookmark

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
def filter_body(context, body):
    """Leaves out what is too long only with the white space that the service trims off the ends:
    a schema cannot count what is left.
    """
    texts = body.values() if isinstance(body, dict) else [body]
    return not any(
        len(text.strip()) <= limit < len(text)
        for text in texts
        if isinstance(text, str)
        for limit in (MAX_TITLE, MAX_URI)
    )


@schemathesis.hook
def map_headers(context, headers):
    """Most entity tags that one can think of stop a request before anything else is tried."""
    if headers and len(headers.get("If-Match", "")) % 4:
        del headers["If-Match"]
    return headers
