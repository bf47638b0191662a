"""Find bookmarks whose addresses differ only in what rarely leads to another page."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from storage.bookmark import Bookmark
from storage.uri import uri_key

Group = Sequence[Bookmark]  # Bookmarks with similar addresses, oldest first.

_SCHEME_AND_WWW = re.compile(r"https?://(?:www\.)?")
_FRAGMENT = re.compile(r"#.*", re.DOTALL)
# Parameters by which sites follow visitors: they lead to the same page without them.
_TRACKING = re.compile(
    r"(?<=[?&])(?:utm_[a-z]+|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid|ref_src|_hsenc|_hsmi)"
    r"=[^&]*(?:&|$)"
)


def similar_key(uri: str) -> str:
    """Return a text that is equal for similar addresses, for other schemes than http the uri."""
    key, count = _SCHEME_AND_WWW.subn("", uri_key(uri), count=1)
    if not count:
        return uri
    return _TRACKING.sub("", _FRAGMENT.sub("", key)).rstrip("?&/")


def find_similar(bookmarks: Iterable[Bookmark]) -> list[Group]:
    """Return the groups of bookmarks that have similar addresses, in the order of the first."""
    groups: dict[str, list[Bookmark]] = defaultdict(list)
    for bookmark in bookmarks:
        groups[similar_key(bookmark.uri)].append(bookmark)
    return [group for group in groups.values() if len(group) > 1]
