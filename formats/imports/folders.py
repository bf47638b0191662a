"""Folders of other programs become tags."""

import re
import unicodedata
from collections.abc import Iterable

from formats.imports.entry import MAX_DEPTH
from storage.bookmark import MAX_TAG, MAX_TAGS, split_tags

# The folders that browsers and Linkwarden create themselves, by their English names.
_BROWSER_FOLDERS = frozenset(
    "bookmarks, bookmarks bar, bookmarks menu, bookmarks toolbar, bookmark toolbar, bookmarksbar, "
    "bookmarksmenu, other bookmarks, mobile bookmarks, synced bookmarks, unsorted bookmarks, "
    "unfiled bookmarks, unlabeled, unorganized, favorites, favorites bar, other favorites, "
    "mobile favorites, favourites, favourites bar, other favourites, mobile favourites".split(", ")
)
_READING_LISTS = ("reading list", "com.apple.readinglist")
_NOT_IN_TAG = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def folder_tags(name: str, is_top: bool) -> tuple[str, ...]:
    """Return the tags for a folder: its name, or the parts of a name with commas.

    A top folder that browsers create themselves has none; their reading list is `toread`.
    """
    name = " ".join(_NOT_IN_TAG.sub(" ", name).split())
    if is_top and name.lower() in _BROWSER_FOLDERS:
        return ()
    if is_top and name.lower() in _READING_LISTS:
        return ("toread",)
    normalized = unicodedata.normalize("NFC", name)
    return tuple(tag[:MAX_TAG].strip() for tag in split_tags(normalized))[:MAX_TAGS]


def merge_tags(own: Iterable[object], more: tuple[str, ...]) -> list[object]:
    """Return own tags, then those of marks such as `unread` and of folders, up to MAX_TAGS."""
    tags = list(own)
    return tags + list(more[: max(MAX_TAGS - len(tags), 0)])


class Folders:
    """The folders around the current entry, while a file is read."""

    def __init__(self) -> None:
        self._tags: list[tuple[str, ...]] = [()]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all folders around the entry."""
        return self._tags[-1]

    @property
    def depth(self) -> int:
        """The number of folders around the entry."""
        return len(self._tags) - 1

    def open(self, tags: tuple[str, ...]) -> None:
        """Open a folder that has these tags."""
        self._tags.append(self.tags)
        self.name(tags)

    def name(self, tags: tuple[str, ...]) -> None:
        """Set the tags of the last folder that was opened."""
        if tags and 0 < self.depth <= MAX_DEPTH:
            self._tags[-1] = (self._tags[-2] + tags)[:MAX_TAGS]

    def close(self) -> None:
        """Close the last folder that was opened, if there is one."""
        if self.depth:
            self._tags.pop()
