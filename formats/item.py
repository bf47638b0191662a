"""What a file that somebody wrote holds: its entries, and what their dates and folders mean."""

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple, Protocol

from storage.bookmark import MAX_TAG, MAX_TAGS, clean, split_tags
from storage.errors import Invalid

# The longest legal bookmark, all of it escaped, is shorter; what is longer is none.
MAX_ENTRY = 1024 * 1024
# How deep folders are told apart: deeper ones have the tags of the last that is.
MAX_DEPTH = 100

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
NO_URI = "has no uri"
SEPARATOR = "is a separator"
QUERY = "is a query of Firefox, not a bookmark"


class Stream(Protocol):
    """Bytes that are read once, from the beginning to the end; none are left when none come."""

    def read(self, size: int, /) -> bytes: ...


class Item(NamedTuple):
    """One entry of a file: the number of its line, what it gives, why it is left out if it is.

    `fields` are a bookmark's by name, as they stand in the file: storage.bookmark.clean() holds
    them to their rules.
    """

    line: int
    fields: dict[str, object]
    skipped: str = ""


def item(line: int, fields: dict[str, object]) -> Item:
    """The entry with these fields; one without a uri says so."""
    return Item(line, fields, "" if fields.get("uri") else NO_URI)


def is_query(uri: object) -> bool:
    """Whether it is a search that Firefox keeps among its bookmarks, and it alone understands."""
    return isinstance(uri, str) and uri.lstrip()[:6].lower() == "place:"


# --- Dates ---

_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # The years 1 to 9999, in seconds since 1970.
_NUMBER = re.compile(r"([+-]?[0-9]{1,20})(?:\.[0-9]{0,20})?")
# What browsers write when they know no date: the beginning of 1970, and of Windows' time, 1601.
_NO_DATES = ("0", "-11644473600")
_MAX_DATE = 64


def date(value: object) -> str | None:
    """The moment that a file gives in whatever way, as RFC 3339 text; None if it gives none.

    A number counts seconds since 1970; one too large for that milliseconds, or else microseconds.
    """
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = str(value) if abs(value) < 1e20 else ""
    else:
        return None
    if not text or len(text) > _MAX_DATE or text in _NO_DATES:
        return None
    number = _NUMBER.fullmatch(text)
    return _from_number(int(number[1])) if number else _from_text(text)


def seconds(moment: str) -> str:
    """A bookmark's timestamp in seconds since 1970, such that date() gives it back."""
    text = str((datetime.fromisoformat(moment[:19]) - _EPOCH) // timedelta(seconds=1))
    # One more zero tells a true date from one that stands for none.
    return re.sub(r"\d", r"0\g<0>", text, count=1) if text in _NO_DATES else text


def _from_number(number: int) -> str | None:
    for unit in (1, 1_000, 1_000_000):
        if _FIRST <= number // unit <= _LAST:
            return (_EPOCH + timedelta(seconds=number // unit)).isoformat() + "Z"
    return None


# Dates of Notion, with a time and without, and of IFTTT.
_WITH_MONTH_NAMES = ("%B %d, %Y %I:%M %p", "%B %d, %Y", "%B %d, %Y at %I:%M%p")


def _from_text(text: str) -> str | None:
    try:
        return clean({"created": text})["created"]
    except Invalid:
        pass
    for parse in (datetime.fromisoformat, _parse_month_name, parsedate_to_datetime):
        try:
            moment = parse(text)
            utc = moment.astimezone(UTC) if moment.tzinfo else moment
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
        return utc.isoformat(timespec="seconds")[:19] + "Z"
    return None


def _parse_month_name(text: str) -> datetime:
    for form in _WITH_MONTH_NAMES:
        with suppress(ValueError):
            return datetime.strptime(text, form)
    raise ValueError(text)


# --- Names ---

# What others call what they tell, without regard to case, spaces, underscores and hyphens.
_NAMES = {
    "uri": "uri url link href address givenurl bookmarkurl",
    "title": "title name giventitle",
    "description": "description desc note notes comment comments excerpt selection extended",
    "tags": "tags tag labels label keywords taglist tagnames documenttags",
    "folder": "folder folders foldername collection",
    "status": "status",
    "private": "private",
    "toread": "toread",
    "unread": "unread",
    "created": "created createdat createdon creationdate date dateadded timeadded added addedat "
    "adddate timestamp time savedat saved saveddate",
    "modified": "modified modifiedat datemodified lastmodified updated updatedat lastupdate",
}
_ROLES = {name: wanted for wanted, names in _NAMES.items() for name in names.split()}


def role_of(name: str) -> str:
    """What a column or member of this name tells; empty if that is not known."""
    return _ROLES.get(re.sub(r"[\s_-]", "", name).lower(), "")


# --- Marks ---

# What may be marked in an entry, by the name that others give it, and becomes a tag.
MARKS = ("private", "toread", "unread")
_TRUE = ("1", "true", "yes")


def is_set(mark: object) -> bool:
    """Tell whether a file sets a mark: by a true or 1 of JSON, or by a text."""
    return mark == 1 or (isinstance(mark, str) and mark.strip().lower() in _TRUE)


# --- Folders and tags ---

# The folders that a browser has of itself, as it names them in English.
_ROOTS = frozenset(
    (
        "bookmarks",
        "bookmarks bar",
        "bookmarks menu",
        "bookmarks toolbar",
        "bookmark toolbar",
        "bookmarksbar",
        "bookmarksmenu",
        "other bookmarks",
        "mobile bookmarks",
        "synced bookmarks",
        "unsorted bookmarks",
        "unfiled bookmarks",
        "unlabeled",
        "favorites",
        "favorites bar",
        "favourites",
        "favourites bar",
        "other favorites",
        "other favourites",
        "mobile favorites",
        "mobile favourites",
    )
)
_READING_LISTS = ("reading list", "com.apple.readinglist")
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def folder_tags(name: str, is_top: bool) -> tuple[str, ...]:
    """The tags that stand for a folder: its name, but of one with commas each part.

    A top folder that browsers have of themselves is none; their reading list is `toread`.
    """
    name = " ".join(_UNFIT.sub(" ", name).split())
    if is_top and name.lower() in _ROOTS:
        return ()
    if is_top and name.lower() in _READING_LISTS:
        return ("toread",)
    whole = unicodedata.normalize("NFC", name)
    return tuple(tag[:MAX_TAG].strip() for tag in split_tags(whole))[:MAX_TAGS]


def united(own: Iterable[object], more: tuple[str, ...]) -> list[object]:
    """An entry's own tags and those of its marks and folders, of which as many as may be."""
    tags = list(own)
    return tags + list(more[: max(MAX_TAGS - len(tags), 0)]) if more else tags


class Folders:
    """The folders around the place in a file that is being read."""

    def __init__(self) -> None:
        self._tags: list[tuple[str, ...]] = [()]
        self._deeper = 0

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all of them."""
        return self._tags[-1]

    @property
    def depth(self) -> int:
        """How many there are."""
        return len(self._tags) - 1 + self._deeper

    def enter(self, tags: tuple[str, ...]) -> None:
        """Goes into a folder that has these tags."""
        if len(self._tags) > MAX_DEPTH:
            self._deeper += 1
        else:
            self._tags.append((self._tags[-1] + tags)[:MAX_TAGS])

    def name(self, tags: tuple[str, ...]) -> None:
        """Gives the tags of the folder that was entered last."""
        if not self._deeper and len(self._tags) > 1:
            self._tags[-1] = (self._tags[-2] + tags)[:MAX_TAGS]

    def leave(self) -> None:
        """Goes out of the folder that was entered last, if there is one."""
        if self._deeper:
            self._deeper -= 1
        elif len(self._tags) > 1:
            self._tags.pop()
