"""Folders of other programs become tags."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from storage.bookmark import MAX_TAG, MAX_TAGS, split_tags

# The folders that browsers and Linkwarden create. Users did not choose these names.
_BUILT_IN_FOLDERS = (
    "bookmarks, bookmarks bar, bookmarks menu, bookmarks toolbar, bookmark toolbar, bookmarksbar, "
    "bookmarksmenu, other bookmarks, mobile bookmarks, synced bookmarks, unsorted bookmarks, "
    "unfiled bookmarks, unlabeled, unorganized, unsorted, favorites, favorites bar, "
    "other favorites, mobile favorites, favourites, favourites bar, other favourites, "
    "mobile favourites"
).split(", ")
# Chromium and Safari create these for pages to read later.
_READING_LISTS = ("reading list", "com.apple.readinglist")
# By name in lower case, the tags for the lists that Pocket, Instapaper and Raindrop create.
_TAGS_OF_SERVICE_LISTS: Mapping[str, tuple[str, ...]] = {
    "unsorted": (),
    "unread": ("unread",),
    "starred": ("starred",),
    "archive": ("archived",),
    "read archive": ("archived",),
}
# Control characters, line separators and characters that XML excludes.
_NOT_IN_TAG = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def folder_tags(name: str, may_be_built_in: bool) -> tuple[str, ...]:
    """Return the tags for a folder: its name, or the parts of a name with commas.

    A browser's own folders, such as Other Bookmarks, are only at the top and become no tags, but
    the one for pages to read later becomes the tag `unread`.
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
    """Return the tags for a list of a service, such as Unread of Pocket, or for a user's own."""
    if name.lower() in _TAGS_OF_SERVICE_LISTS:
        return _TAGS_OF_SERVICE_LISTS[name.lower()]
    return folder_tags(name, may_be_built_in=True)


def merge_tags(own_tags: Sequence[object], further_tags: tuple[str, ...]) -> list[object]:
    """Return own tags, then those of folders and of flags such as `private`, up to MAX_TAGS."""
    # The importer reports an entry that has too many of its own.
    room = max(0, MAX_TAGS - len(own_tags))
    return [*own_tags, *further_tags[:room]]


class Heading(NamedTuple):
    """A heading of a text, whose tags are those of the entries below it."""

    level: int
    text: str
    tags: tuple[str, ...]


class Folders:
    """The folders around the current entry, while a file is read."""

    def __init__(self) -> None:
        # By the number of folders around an entry.
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
        # Beyond MAX_TAGS, inner folders share one tuple: deep nesting takes less memory.
        if tags and len(all_tags) < MAX_TAGS:
            all_tags = (all_tags + tags)[:MAX_TAGS]
        self._tags_by_depth.append(all_tags)

    def close_to(self, depth: int) -> None:
        """Close the innermost folders, until `depth` of them are open."""
        # A damaged file may close more folders than it opened.
        del self._tags_by_depth[max(0, depth) + 1 :]
