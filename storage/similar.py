"""Find bookmarks with similar addresses."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from storage.index import Entry
from storage.uri import uri_key

Group = Sequence[Entry]  # Oldest first.

_TRACKING_PARAMETER = re.compile(
    r"""
    (?<= [?&] )
    ( utm_[a-z]+ | fbclid | gclid | dclid | msclkid | mc_[ce]id | igshid | ref_src
    | _hsenc | _hsmi )
    = [^&]*
    ( & | $ )
    """,
    re.VERBOSE,
)


def similar_key(uri: str) -> str:
    """Return a web address without scheme, `www.`, fragment and tracking parameters."""
    scheme, _, rest = uri_key(uri).partition("://")
    if scheme not in ("http", "https"):
        return uri
    rest, _, _fragment = rest.removeprefix("www.").partition("#")
    return _TRACKING_PARAMETER.sub("", rest).rstrip("?&/")


def find_similar(entries: Iterable[Entry]) -> list[Group]:
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[similar_key(entry.bookmark.uri)].append(entry)
    return [group for group in groups.values() if len(group) > 1]
