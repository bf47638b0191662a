"""Find the links and headings in a line of Org."""

import re
from collections.abc import Iterator

from formats.imports.entry import SCHEME_PATTERN
from formats.imports.folders import Heading, folder_tags
from storage.bookmark import Fields

_HEADING = re.compile(
    r"""
    (?P<stars> \*+ ) \s+
    (?: (?: TODO | DONE ) \s+ )?
    (?: \[\# [A-Z] \] \s+ )?            # Priority.
    (?P<text> .* )
    """,
    re.VERBOSE,
)
# Not `id:1a2b` or `file:notes.org`, which link to other Org files.
_ADDRESS = re.compile(rf"\s*(?!id:|file:(?!//)){SCHEME_PATTERN}")


def has_link(line: str) -> bool:
    return any(find_links(line))


def read_heading(line: str) -> Heading | None:
    """Return the heading of `** Travel :a:b:`, with the tags Travel, a and b."""
    match = _HEADING.fullmatch(line)
    if not match:
        return None
    depth = len(match["stars"]) - 1
    name, own_tags = _split_own_tags(match["text"])
    tags = folder_tags(_without_brackets(name), is_top_level=depth == 0)
    return Heading(depth, match["text"], (*tags, *own_tags))


def find_links(line: str) -> Iterator[Fields]:
    """Yield the fields of each link, such as `[[uri][title]] text :a:b:`."""
    text, own_tags = _split_own_tags(line)
    _, *parts = text.split("[[")
    for part in parts:
        uri, title, behind = _split_link(part)
        if not _ADDRESS.match(uri):
            continue
        fields: Fields = {"uri": uri.strip(), "title": title.strip()}
        description = behind.strip(" -–—:|,")
        # A text among several links may describe any of them.
        if description and len(parts) == 1:
            fields["description"] = description
        if own_tags:
            fields["tags"] = own_tags
        yield fields


def _split_own_tags(text: str) -> tuple[str, list[str]]:
    """Split `text :a:b:` into `text` and the tags."""
    before, _, last = text.rpartition(" ")
    if not last.startswith(":") or not last.endswith(":"):
        return text, []
    return before, [tag for tag in last.split(":") if tag]


def _without_brackets(text: str) -> str:
    name, *parts = text.split("[[")
    for part in parts:
        _, title, behind = _split_link(part)
        name += title + behind
    return name


def _split_link(part: str) -> tuple[str, str, str]:
    """Split `uri][title]] text` into uri, title and text."""
    link, _, behind = part.rpartition("]]")
    uri, _, title = link.partition("][")
    return uri, title, behind
