"""Folders of other programs become tags."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from storage.bookmark import MAX_TAG, MAX_TAGS, split_tags

# The folders that browsers and Linkwarden create.
_BUILT_IN_FOLDERS = (
    "bookmarks, bookmarks bar, bookmarks menu, bookmarks toolbar, bookmark toolbar, bookmarksbar, "
    "bookmarksmenu, other bookmarks, mobile bookmarks, synced bookmarks, unsorted bookmarks, "
    "unfiled bookmarks, unlabeled, unorganized, unsorted, favorites, favorites bar, "
    "other favorites, mobile favorites, favourites, favourites bar, other favourites, "
    "mobile favourites"
).split(", ")
# Those of Chromium and Safari.
_READING_LISTS = ("reading list", "com.apple.readinglist")
# The tags for the lists of Pocket, Instapaper and Raindrop.
_TAGS_OF_SERVICE_LISTS: Mapping[str, tuple[str, ...]] = {
    "unsorted": (),
    "unread": ("unread",),
    "starred": ("starred",),
    "archive": ("archived",),
    "read archive": ("archived",),
}
_NOT_IN_TAG = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def folder_tags(name: str, may_be_built_in: bool) -> tuple[str, ...]:
    """Return the tags for a folder: its name, or the parts of a name with commas.

    A browser's own folders, such as Other Bookmarks, become no tags.
    """
    name = " ".join(_NOT_IN_TAG.sub(" ", name).split())
    if may_be_built_in and name.lower() in _BUILT_IN_FOLDERS:
        return ()
    if may_be_built_in and name.lower() in _READING_LISTS:
        return ("unread",)
    normalized = unicodedata.normalize("NFC", name)
    tags = [tag[:MAX_TAG].strip() for tag in split_tags(normalized)]
    return tuple(tags[:MAX_TAGS])


def list_tags(name: str) -> tuple[str, ...]:
    """Return the tags for a list, which may be a service's own, such as Unread."""
    if name.lower() in _TAGS_OF_SERVICE_LISTS:
        return _TAGS_OF_SERVICE_LISTS[name.lower()]
    return folder_tags(name, may_be_built_in=True)


def merge_tags(own_tags: Sequence[object], further_tags: tuple[str, ...]) -> list[object]:
    """Return own tags, then further ones up to MAX_TAGS."""
    # The importer reports too many own tags.
    room = max(0, MAX_TAGS - len(own_tags))
    return [*own_tags, *further_tags[:room]]


class Heading(NamedTuple):
    """A heading of a text, with the tags of the entries below it."""

    level: int
    text: str
    tags: tuple[str, ...]


class Folders:
    """The folders around the current entry, while a file is read."""

    def __init__(self) -> None:
        self._tags_by_depth: list[tuple[str, ...]] = [()]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all folders around the entry."""
        return self._tags_by_depth[-1]

    @property
    def depth(self) -> int:
        """The number of folders around the entry."""
        return len(self._tags_by_depth) - 1

    def open(self, tags: tuple[str, ...]) -> None:
        """Open a folder with these tags of its own."""
        all_tags = self.tags
        # Beyond MAX_TAGS, inner folders share one tuple, to save memory.
        if tags and len(all_tags) < MAX_TAGS:
            all_tags = (all_tags + tags)[:MAX_TAGS]
        self._tags_by_depth.append(all_tags)

    def close_to(self, depth: int) -> None:
        """Close the innermost folders, until `depth` of them are open."""
        del self._tags_by_depth[max(0, depth) + 1 :]
