"""Turn folders into tags."""

import re
import unicodedata
from typing import NamedTuple

from storage.bookmark import MAX_TAG, MAX_TAGS, split_tags

Tags = tuple[str, ...]

# Folders that browsers and Linkwarden create.
_BUILT_IN_FOLDERS = (
    "bookmarks, bookmarks bar, bookmarks menu, bookmarks toolbar, bookmark toolbar, bookmarksbar, "
    "bookmarksmenu, other bookmarks, mobile bookmarks, synced bookmarks, unsorted bookmarks, "
    "unfiled bookmarks, unlabeled, unorganized, unsorted, favorites, favorites bar, "
    "other favorites, mobile favorites, favourites, favourites bar, other favourites, "
    "mobile favourites"
).split(", ")
_READING_LISTS = ("reading list", "com.apple.readinglist")
# Lists of Pocket, Instapaper and Raindrop.
_TAGS_OF_SERVICE_LISTS = {
    "unread": ("unread",),
    "starred": ("starred",),
    "archive": ("archived",),
    "read archive": ("archived",),
}
# Control characters, line separators and characters that XML excludes.
_NOT_IN_TAG = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def folder_tags(name: str, is_top_level: bool) -> Tags:
    name = " ".join(_NOT_IN_TAG.sub(" ", name).split())
    if is_top_level:
        if name.lower() in _BUILT_IN_FOLDERS:
            return ()
        if name.lower() in _READING_LISTS:
            return ("unread",)
    normalized = unicodedata.normalize("NFC", name)
    tags = [tag[:MAX_TAG].strip() for tag in split_tags(normalized)]
    return tuple(tags[:MAX_TAGS])


def list_tags(name: str) -> Tags:
    """Return the tags of a list such as Pocket's `Unread`, or of a folder at the top level."""
    if name.lower() in _TAGS_OF_SERVICE_LISTS:
        return _TAGS_OF_SERVICE_LISTS[name.lower()]
    return folder_tags(name, is_top_level=True)


class Heading(NamedTuple):
    depth: int  # 0 for `# Travel`, 1 for `## Cities`.
    text: str
    tags: Tags  # For the entries below the heading.


class Folders:
    """The folders around the current entry of a file."""

    def __init__(self) -> None:
        self._tags_by_depth: list[Tags] = [()]  # Depth 0 is outside all folders.

    @property
    def tags(self) -> Tags:
        return self._tags_by_depth[-1]

    @property
    def depth(self) -> int:
        return len(self._tags_by_depth) - 1

    def open(self, tags: Tags) -> None:
        all_tags = self.tags
        if len(all_tags) < MAX_TAGS:  # A million deeper folders may share one tuple.
            all_tags = (all_tags + tags)[:MAX_TAGS]
        self._tags_by_depth.append(all_tags)

    def open_at(self, depth: int, tags: Tags) -> None:
        """Open a folder at a depth. Missing folders around it are opened without tags."""
        while self.depth < depth:
            self.open(())
        self.open(tags)

    def close_to(self, depth: int) -> None:
        """Close the innermost folders until `depth` are open."""
        del self._tags_by_depth[depth + 1 :]

    def close_one(self) -> None:
        if self.depth > 0:
            self._tags_by_depth.pop()
