"""Bookmarks and tombstones, and the rules of their fields."""

import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec

from storage.errors import Invalid

# Ids are file names. Some disks ignore case, so ids have no capitals.
ID = re.compile(
    "(?!(?:api|feed|tags|health)(?![a-z0-9_-]))"  # Not a path of the service.
    "[a-z0-9][a-z0-9_-]{0,63}"
)

MAX_TAGS = 100
# In characters:
MAX_URI = 65_536
MAX_TITLE = 4_096
MAX_DESCRIPTION = 65_536
MAX_TAG = 255

# The characters that XML 1.0 excludes (section 2.2).
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINE_BREAKS_AND_TABS = re.compile("[\t\n\r\u0085\u2028\u2029]+")
_SPACE_OR_CONTROL = re.compile("[\\s\x00-\x1f\x7f-\x9f]")
_NOT_IN_TAG = re.compile("[,\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Days after the 28th do not match, because some months lack them.
_OBVIOUSLY_VALID_TIMESTAMP = re.compile(
    r"""
    (?!0000) [0-9]{4} - (?: 0[1-9] | 1[0-2] ) - (?: 0[1-9] | 1[0-9] | 2[0-8] )
    T (?: [01][0-9] | 2[0-3] ) : [0-5][0-9] : [0-5][0-9] Z
    """,
    re.VERBOSE,
)
_TIMESTAMP = re.compile(  # RFC 3339 section 5.6
    r"""
    ( [0-9]{4} - [0-9]{2} - [0-9]{2} )
    [Tt\ ]
    ( (?: [01][0-9] | 2[0-3] ) : [0-9]{2} : [0-9]{2} )
    (?: \. [0-9]+ )?
    ( [Zz] | [+-] [0-9]{2} : [0-9]{2} )
    """,
    re.VERBOSE,
)
# In longer texts, many combining marks would make `unicodedata.normalize` slow.
_MAX_QUICKLY_NORMALIZED_CHARACTERS = 4_096

Value = str | tuple[str, ...]
Fields = dict[str, Any]


class _RuleBroken(Exception):
    """A value breaks the rule of its field."""


def _check_string(value: object) -> str:
    if not isinstance(value, str):
        raise _RuleBroken("must be a string")
    if value.isprintable():  # XML allows all printable characters.
        return value
    if match := _NOT_XML.search(value):
        raise _RuleBroken(f"must not contain the character U+{ord(match[0]):04X}")
    return value


def _check_length(text: str, limit: int) -> None:
    if len(text) > limit:
        raise _RuleBroken(f"must be at most {limit:,} characters long, not {len(text):,}")


def _normalize(text: str, limit: int) -> str:
    _check_length(text, limit)
    normalized = normalize(text)
    _check_length(normalized, limit)
    return normalized


def _check_id(value: object) -> str:
    id = _check_string(value)
    if not ID.fullmatch(id):
        raise _RuleBroken(
            "must be 1 to 64 of a-z, 0-9, _ and -, begin with a letter or digit, "
            "and be none of api, feed, tags and health"
        )
    return id


def _check_uri(value: object) -> str:
    uri = _check_string(value).strip()
    scheme = _SCHEME.match(uri)
    if scheme is None or scheme.end() == len(uri):
        raise _RuleBroken("must be an absolute address, such as https://example.com/")
    is_plain = uri.isprintable() and " " not in uri
    if not is_plain and _SPACE_OR_CONTROL.search(uri):
        raise _RuleBroken("must not contain white space or control characters")
    _check_length(uri, MAX_URI)
    return uri


def _check_title(value: object) -> str:
    text = _check_string(value)
    if not text.isprintable():
        text = _LINE_BREAKS_AND_TABS.sub(" ", text)
    return _normalize(text.strip(), MAX_TITLE)


def _check_description(value: object) -> str:
    text = _check_string(value).replace("\r\n", "\n").replace("\r", "\n")
    return _normalize(text.strip(), MAX_DESCRIPTION)


def _check_tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _RuleBroken("must be an array of strings")
    checked = [_check_item(index, item) for index, item in enumerate(value)]
    tags = unique_tags(checked)
    if len(tags) > MAX_TAGS:
        raise _RuleBroken(f"must not be more than {MAX_TAGS}, but are {len(tags)}")
    return tuple(tags)


def _check_item(index: int, value: object) -> str:
    try:
        if not isinstance(value, str):
            raise _RuleBroken("must contain only strings")
        trimmed = _check_string(value).strip()
        _check_length(trimmed, MAX_TAG)  # `_check_short_tag` would cache a long text.
        return _check_short_tag(trimmed)
    except _RuleBroken as error:
        raise _RuleBroken(f"{error}: {_show(value)} at index {index}") from None


@lru_cache(maxsize=8192)
def _check_short_tag(trimmed: str) -> str:
    """Check a tag. The cache makes equal tags one object, which saves memory."""
    tag = _normalize(trimmed, MAX_TAG)
    if not tag:
        raise _RuleBroken("must not contain an empty tag")
    if match := _NOT_IN_TAG.search(tag):
        raise _RuleBroken(f"must not contain the character U+{ord(match[0]):04X}")
    return tag


def _show(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str) and len(value) > 60:
        value = f"{value[:60]}…"
    if isinstance(value, float) and value.is_integer():  # Show 3.0 as 3.
        value = int(value)
    return cut_and_replace_unprintable(json.dumps(value, ensure_ascii=False))


def _check_timestamp(value: object) -> str:
    if isinstance(value, str) and _OBVIOUSLY_VALID_TIMESTAMP.fullmatch(value):
        return value
    text = _check_string(value)
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        rule = "must be a date and time, such as 2024-02-29T12:00:00Z"
        raise _RuleBroken(f"{rule}, not {cut_and_replace_unprintable(text)!r}")
    day, clock, zone = match.groups()
    if clock.endswith(":60"):  # datetime refuses leap seconds (RFC 3339 section 5.7).
        clock = clock.removesuffix(":60") + ":59"
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise _RuleBroken("must be a date and time that exists") from None
    return _format_rfc3339(moment)


class Bookmark(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A bookmark with valid fields. Timestamps look like `2024-02-29T12:00:00Z`."""

    id: str
    uri: str
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    created: str
    modified: str = ""


class Field(msgspec.Struct, frozen=True):
    rule: Callable[[object], Value]  # Returns the value to store. Raises _RuleBroken.
    is_read_only: bool = False
    is_list: bool = False


FIELDS: Mapping[str, Field] = {
    "id": Field(_check_id, is_read_only=True),
    "uri": Field(_check_uri),
    "title": Field(_check_title),
    "description": Field(_check_description),
    "tags": Field(_check_tags, is_list=True),
    "created": Field(_check_timestamp, is_read_only=True),
    "modified": Field(_check_timestamp, is_read_only=True),
}
READ_ONLY_FIELDS = tuple(name for name, field in FIELDS.items() if field.is_read_only)
WRITABLE_FIELDS = tuple(name for name in FIELDS if name not in READ_ONLY_FIELDS)


PRIVATE = "private"  # Visitors do not see bookmarks with this tag.


class Tombstone(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A record of a deletion."""

    id: str
    deleted: str
    private: bool = False


def unique_tags(tags: Iterable[str]) -> list[str]:
    """Remove repeated tags, ignoring case. The first spelling stays."""
    first_spellings: dict[str, str] = {}
    for tag in tags:
        first_spellings.setdefault(fold_tag(tag), tag)
    return list(first_spellings.values())


def tags_without(tags: Iterable[str], removed: Iterable[str]) -> list[str]:
    """Remove some tags, ignoring case."""
    folded = {fold_tag(tag) for tag in removed}
    return [tag for tag in tags if fold_tag(tag) not in folded]


def to_text(value: Value) -> str:
    """Return a value as text, with commas between tags."""
    if isinstance(value, str):
        return value
    return ",".join(value)


def from_text(name: str, text: str) -> str | list[str]:
    """Return the unchecked value of a field. Tags are split at commas and line breaks."""
    if FIELDS[name].is_list:
        return split_tags(text)
    return text


def clean(
    values: Mapping[str, object], earlier_errors: Iterable[tuple[str, str]] = ()
) -> Fields:
    """Check and normalize fields. Raises Invalid with the earlier and the new errors."""
    cleaned: Fields = {}
    errors = list(earlier_errors)
    for name, value in values.items():
        field = FIELDS.get(name)
        if field is None:
            errors.append((cut_and_replace_unprintable(name), "is not a field of a bookmark"))
            continue
        try:
            cleaned[name] = field.rule(value)
        except _RuleBroken as error:
            errors.append((name, str(error)))
    if errors:
        raise Invalid(errors)
    return cleaned


def clean_value(name: str, value: object) -> Any:
    return clean({name: value})[name]


def clean_changes(
    values: Mapping[str, object],
    id_in_address: str | None = None,
    required: Mapping[str, str] = {},
) -> Fields:
    """Clean the values of the writable fields. Raises Invalid.

    `required` maps each required field to the error message for a missing value.
    """
    errors = [(name, required[name]) for name in required if name not in values]
    if "id" in values and values["id"] != id_in_address:
        errors.append(("id", f"must be {id_in_address}, as in the address, or absent"))
    changes = {name: value for name, value in values.items() if name not in READ_ONLY_FIELDS}
    return clean(changes, errors)


def clean_read_only(values: Mapping[str, object]) -> Fields:
    return clean({name: values[name] for name in READ_ONLY_FIELDS if name in values})


def create(fields: Fields, id: str) -> Bookmark:
    """Return a new bookmark. Raises Invalid if the uri is missing."""
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    values = fields.copy()
    values["id"] = id
    if not values.get("title"):
        values["title"] = _default_title(values["uri"])
    if not values.get("created"):
        values["created"] = now()
    if not values.get("modified"):
        values["modified"] = values["created"]
    return Bookmark(**values)


def update(bookmark: Bookmark, fields: Fields) -> Bookmark:
    """Return the changed bookmark, or the same object if no value differs."""
    changes = {name: fields[name] for name in WRITABLE_FIELDS if name in fields}
    changed = msgspec.structs.replace(bookmark, **changes)
    if not changed.title:
        changed = msgspec.structs.replace(changed, title=_default_title(changed.uri))
    if changed == bookmark:
        return bookmark
    return _mark_modified(changed)


def merge(bookmark: Bookmark, fields: Fields) -> Bookmark:
    """Fill empty fields, add tags, and keep the earlier time of creation.

    Returns the same object if no value differs.
    """
    changes = {}
    for name in WRITABLE_FIELDS:
        is_empty = not getattr(bookmark, name)
        if is_empty and name in fields:
            changes[name] = fields[name]
    has_default_title = bookmark.title == _default_title(bookmark.uri)
    if has_default_title and fields.get("title"):
        changes["title"] = fields["title"]
    if "tags" in fields:
        tags = unique_tags([*bookmark.tags, *fields["tags"]])
        changes["tags"] = tuple(tags[:MAX_TAGS])
    changes["created"] = min(bookmark.created, fields.get("created", bookmark.created))
    changed = msgspec.structs.replace(bookmark, **changes)
    if changed == bookmark:
        return bookmark
    return _mark_modified(changed)


def _mark_modified(bookmark: Bookmark) -> Bookmark:
    # After the clock is set back, `now` may be earlier than `created`.
    return msgspec.structs.replace(bookmark, modified=max(now(), bookmark.created))


def _default_title(uri: str) -> str:
    return normalize(uri)[:MAX_TITLE]


def fold(text: str) -> str:
    """Remove case, for comparisons."""
    if text.isascii():
        return text.lower()
    return normalize(text.casefold())


@lru_cache(maxsize=8192)
def fold_tag(tag: str) -> str:
    """Remove case. The cache makes equal tags one object, which saves memory."""
    return fold(tag)


def normalize(text: str) -> str:
    """Convert to the Unicode form NFC."""
    if text.isascii():
        return text
    is_long = len(text) > _MAX_QUICKLY_NORMALIZED_CHARACTERS
    if is_long and not unicodedata.is_normalized("NFC", text):
        text = _decompose(text)
    return unicodedata.normalize("NFC", text)


def _decompose(text: str) -> str:
    """Like unicodedata.normalize("NFD", text), but fast for many combining marks."""
    decomposed = ""
    for character in text:
        decomposed += unicodedata.normalize("NFD", character)
    ordered: list[str] = []
    for _, run in groupby(decomposed, key=_is_combining_mark):
        ordered += sorted(run, key=unicodedata.combining)
    return "".join(ordered)


def _is_combining_mark(character: str) -> bool:
    return unicodedata.combining(character) > 0


def replace_invalid_xml_chars(text: str, replacement: str = "\ufffd") -> str:
    return _NOT_XML.sub(replacement, text)


def cut_and_replace_unprintable(text: str) -> str:
    """Return at most 64 characters, all of them printable."""
    printable = ""
    for character in text[:64]:
        if character.isprintable():
            printable += character
        else:
            printable += "\ufffd"
    return printable


def split_tags(text: str) -> list[str]:
    trimmed = map(str.strip, re.split("[,\r\n]", text))
    return [tag for tag in trimmed if tag]


def timestamp(seconds: float) -> str:
    """Format seconds since 1970 (RFC 3339)."""
    return _format_rfc3339(datetime.fromtimestamp(int(seconds), UTC))


def now() -> str:
    return timestamp(time.time())


def _format_rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
