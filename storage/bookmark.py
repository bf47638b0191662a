"""Bookmarks and tombstones: fields, the rules of each field, creating and changing."""

import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, Literal

import msgspec

from storage.errors import Invalid

FIELDS = ("id", "uri", "title", "description", "tags", "created", "modified")
WRITABLE_FIELDS = ("uri", "title", "description", "tags")
# Creating a bookmark may set these fields. An update ignores them.
READ_ONLY_FIELDS = ("id", "created", "modified")

# Lower case only, so that two ids never share a file on a case-insensitive disk. Without dots and
# slashes an id cannot leave its folder or its path segment. The three excluded words are paths of
# other resources, such as /feed; an id may begin with them, such as `feeds`.
ID = re.compile("(?!(?:api|feed|tags|health)(?![a-z0-9_-]))[a-z0-9][a-z0-9_-]{0,63}")

# Lengths in characters; MAX_TAGS is a number of tags. Without limits one bookmark could fill the
# memory, and make every list that shows it too long to use.
MAX_URI = 65_536
MAX_TITLE = 4_096
MAX_DESCRIPTION = 65_536
MAX_TAG = 255
MAX_TAGS = 100

# The characters that XML 1.0 excludes from documents (section 2.2 of its recommendation).
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINE_BREAKS_AND_TABS = re.compile("[\t\n\r\u0085\u2028\u2029]+")  # Become one space in a title.
_SPACE_OR_CONTROL = re.compile("[\\s\x00-\x1f\x7f-\x9f]")  # Not allowed in a uri.
_NOT_IN_TAG = re.compile("[,\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# A fast test for timestamps in the stored form. For other texts, and for days after the 28th,
# `_check_timestamp` lets `datetime` find out whether the date exists.
_CANONICAL_TIMESTAMP = re.compile(
    "(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"  # The days that every month has.
    "T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
)
_TIMESTAMP = re.compile(  # RFC 3339 section 5.6
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]((?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)

_SHORT = 2_000  # A text of this length is normalized in at most 7 ms, even if it is all marks.
# Combining marks are among the characters that are neither letters nor spaces. The two letters, of
# Japanese, become marks in NFKD.
_LONG_RUN = re.compile(r"(?:[^\w\s!-~]|[\uff9e\uff9f]){31,}")


# Without gc=False each garbage collection would visit every bookmark, and none is in a cycle.
class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """One bookmark, every field valid. Timestamps are RFC 3339, UTC, whole seconds, `Z`."""

    id: str
    uri: str
    title: str
    description: str
    tags: tuple[str, ...]
    created: str
    modified: str


class Tombstone(msgspec.Struct, frozen=True, gc=False):
    """The record of a deleted bookmark: its id and the time of its deletion."""

    id: str
    deleted: str


# Valid values of some fields of a bookmark, by name.
Fields = dict[str, Any]


# --- The rules of the fields ---


class _RuleBroken(Exception):
    """A value breaks the rule of its field; the text says how."""


def _check_string(value: object) -> str:
    if not isinstance(value, str):
        raise _RuleBroken("must be a string")
    if value.isprintable():  # Faster than the search; XML allows every printable character.
        return value
    if match := _NOT_XML.search(value):
        raise _RuleBroken(f"must not contain the character U+{ord(match[0]):04X}")
    return value


def _normalize(text: str, limit: int) -> str:
    """Return the text in NFC. Raises _RuleBroken if it is too long, before or afterwards."""
    return _check_length(normalize("NFC", _check_length(text, limit)), limit)


def _check_length(text: str, limit: int) -> str:
    if len(text) > limit:
        raise _RuleBroken(f"must be at most {limit:,} characters long, not {len(text):,}")
    return text


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
    # The regular expression is slow. It can match only in a uri with a space or an unprintable
    # character, and two fast tests rule out both for most uris.
    if (" " in uri or not uri.isprintable()) and _SPACE_OR_CONTROL.search(uri):
        raise _RuleBroken("must not contain white space or control characters")
    return _check_length(uri, MAX_URI)


def _check_title(value: object) -> str:
    text = _check_string(value)
    if not text.isprintable():  # A fast test: line breaks and tabs are not printable.
        text = _LINE_BREAKS_AND_TABS.sub(" ", text)
    return _normalize(text.strip(), MAX_TITLE)


def _check_description(value: object) -> str:
    text = _check_string(value).replace("\r\n", "\n").replace("\r", "\n").strip()
    return _normalize(text, MAX_DESCRIPTION)


def _check_tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _RuleBroken("must be an array of strings")
    first_spellings: dict[str, str] = {}
    for index, item in enumerate(value):
        tag = _check_item(index, item)
        first_spellings.setdefault(fold_tag(tag), tag)
    if len(first_spellings) > MAX_TAGS:
        raise _RuleBroken(f"must be at most {MAX_TAGS} tags, not {len(first_spellings)}")
    return tuple(first_spellings.values())


def _check_item(index: int, value: object) -> str:
    """Return the tag at this index of an array."""
    try:
        if not isinstance(value, str):
            raise _RuleBroken("must contain only strings")
        # Before `_check_tag`, whose cache must not keep long texts.
        return _check_tag(_check_length(_check_string(value).strip(), MAX_TAG))
    except _RuleBroken as error:
        raise _RuleBroken(f"{error}: {_show(value)} at index {index}") from None


def _show(value: object) -> str:
    """Return a wrong value as JSON, short enough for an error message."""
    if isinstance(value, list | dict):
        return "an array" if isinstance(value, list) else "an object"
    if isinstance(value, str) and len(value) > 60:  # Cut it here, inside the quotation marks.
        value = f"{value[:60]}…"
    if isinstance(value, float) and value.is_integer():  # The JSON parser makes all numbers floats.
        value = int(value)
    return cut_and_replace_unprintable(json.dumps(value, ensure_ascii=False))


# A collection has few different tags: equal ones share one string object.
@lru_cache(maxsize=8192)
def _check_tag(trimmed: str) -> str:
    tag = _normalize(trimmed, MAX_TAG)
    if not tag:
        raise _RuleBroken("must not contain an empty tag")
    if match := _NOT_IN_TAG.search(tag):
        raise _RuleBroken(f"must not contain a tag with the character U+{ord(match[0]):04X}")
    return tag


def _check_timestamp(value: object) -> str:
    # Every date that _CANONICAL_TIMESTAMP admits exists: its days are only 1 to 28.
    if isinstance(value, str) and _CANONICAL_TIMESTAMP.fullmatch(value):
        return value
    text = _check_string(value)
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        example = "must be an RFC 3339 timestamp, such as 2024-02-29T12:00:00Z"
        raise _RuleBroken(f"{example}, not {cut_and_replace_unprintable(text)!r}")
    day, clock, zone = match.groups()
    if clock.endswith(":60"):  # A leap second (RFC 3339 section 5.7), which datetime rejects.
        clock = clock.removesuffix(":60") + ":59"
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise _RuleBroken("must be a date and time that exists") from None
    return _format_rfc3339(moment)


_RULES: Mapping[str, Callable[[object], str | tuple[str, ...]]] = {
    "id": _check_id,
    "uri": _check_uri,
    "title": _check_title,
    "description": _check_description,
    "tags": _check_tags,
    "created": _check_timestamp,
    "modified": _check_timestamp,
}


def clean(values: Mapping[str, object], errors: Iterable[tuple[str, str]] = ()) -> Fields:
    """Return the values, each checked and normalized by the rule of its field.

    Raises Invalid with one error, (field, reason), for each field that is unknown or breaks its
    rule, and with the `errors` that the caller has found before.
    """
    fields: Fields = {}
    errors = list(errors)
    for name, value in values.items():
        rule = _RULES.get(name)
        if rule is None:
            errors.append((cut_and_replace_unprintable(name), "is not a field of a bookmark"))
            continue
        try:
            fields[name] = rule(value)
        except _RuleBroken as error:
            errors.append((name, str(error)))
    if errors:
        raise Invalid(errors)
    return fields


def clean_changes(
    values: Mapping[str, object],
    id_in_address: str | None = None,
    required: Iterable[str] = (),
    reason: str = "is required",
) -> Fields:
    """Return the writable fields among the values, cleaned; drop the read-only ones.

    Raises Invalid, also for this reason if a required field is missing, or if the values have an id
    other than `id_in_address`. The address of POST / has no id, so its caller removes any id from
    the values.
    """
    errors = [(name, reason) for name in required if name not in values]
    if "id" in values and values["id"] != id_in_address:
        errors.append(("id", f"must be {id_in_address}, as in the address, or absent"))
    changes = {name: value for name, value in values.items() if name not in READ_ONLY_FIELDS}
    return clean(changes, errors)  # Raises Invalid with these errors, too.


def clean_read_only(values: Mapping[str, object]) -> Fields:
    """Return the read-only fields among the values, cleaned, for a new bookmark. Raises Invalid."""
    return clean({name: values[name] for name in READ_ONLY_FIELDS if name in values})


# --- Creating and changing ---


def create(fields: Fields, id: str, now: str = "") -> Bookmark:
    """Return a new bookmark with these fields, created at `now` if they have no `created`.

    Raises Invalid if they have no uri.
    """
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    created = fields.get("created") or now or timestamp(time.time())
    return Bookmark(
        id=id,
        uri=fields["uri"],
        title=fields.get("title") or _default_title(fields["uri"]),
        description=fields.get("description", ""),
        tags=fields.get("tags", ()),
        created=created,
        modified=fields.get("modified") or created,
    )


def update(bookmark: Bookmark, fields: Fields, now: str = "") -> Bookmark:
    """Return the bookmark with these fields changed; the same object if no value differs."""
    uri = fields.get("uri", bookmark.uri)
    changed = msgspec.structs.replace(
        bookmark,
        uri=uri,
        title=fields.get("title", bookmark.title) or _default_title(uri),
        description=fields.get("description", bookmark.description),
        tags=fields.get("tags", bookmark.tags),
    )
    if changed == bookmark:
        return bookmark
    return msgspec.structs.replace(changed, modified=now or timestamp(time.time()))


def merge(bookmark: Bookmark, fields: Fields, now: str) -> Bookmark:
    """Return the bookmark with the fields of another source added; the same object if none is new.

    Tags are added, an existing title or description stays, and `created` becomes the earlier of
    both. Raises Invalid if there are too many tags.
    """
    has_own_title = bookmark.title != _default_title(bookmark.uri)
    try:
        tags = _check_tags(bookmark.tags + fields.get("tags", ()))
    except _RuleBroken as broken_rule:  # Such as "must be at most 100 tags, not 101".
        reason = f"together with the stored ones {broken_rule}"
        raise Invalid([("tags", reason)]) from None
    changed = msgspec.structs.replace(
        bookmark,
        title=bookmark.title if has_own_title else fields.get("title") or bookmark.title,
        description=bookmark.description or fields.get("description", ""),
        tags=tags,
        created=min(bookmark.created, fields.get("created", bookmark.created)),
    )
    return bookmark if changed == bookmark else msgspec.structs.replace(changed, modified=now)


def _default_title(uri: str) -> str:
    """Return the title for a bookmark that has none: its uri, cut to the length of a title."""
    return normalize("NFC", uri)[:MAX_TITLE]


# --- Text ---


def fold(text: str) -> str:
    """Return the text in one case and one Unicode form (NFC), for comparisons."""
    return text.lower() if text.isascii() else normalize("NFC", text.casefold())


def normalize(form: Literal["NFC", "NFKD"], text: str) -> str:
    """Return the text in this Unicode form, in a time that is proportional to its length.

    `unicodedata.normalize` moves each combining mark step by step to its place: 100,000 marks in a
    wrong order take 14 s. So long runs are decomposed and sorted by `sorted` first.
    """
    if text.isascii():
        return text
    if len(text) > _SHORT:
        decompose = partial(unicodedata.normalize, "NFKD" if form == "NFKD" else "NFD")
        text = _LONG_RUN.sub(lambda run: _sort_marks(map(decompose, run[0])), text)
    return unicodedata.normalize(form, text)


def _sort_marks(decomposed: Iterable[str]) -> str:
    """Return the texts joined, with each sequence of combining marks in canonical order."""
    sequences = groupby("".join(decomposed), key=lambda c: unicodedata.combining(c) > 0)
    # All characters that are no marks have the same key, so sorting leaves them as they are.
    return "".join(
        character
        for _, sequence in sequences
        for character in sorted(sequence, key=unicodedata.combining)
    )


@lru_cache(maxsize=8192)
def fold_tag(tag: str) -> str:
    """Return the folded tag; equal tags share one object, which saves memory."""
    return fold(tag)


def replace_invalid_xml_chars(text: str) -> str:
    """Return the text with U+FFFD in place of each character that XML cannot contain."""
    return _NOT_XML.sub("\ufffd", text)


def cut_and_replace_unprintable(name: str) -> str:
    """Return a name from a client for an error message: cut to 64 characters, and printable."""
    return "".join(c if c.isprintable() else "\ufffd" for c in name[:64])


def split_tags(text: str) -> list[str]:
    """Return the tags in a text that separates them by commas or line breaks."""
    return [tag for tag in map(str.strip, re.split("[,\r\n]", text)) if tag]


def timestamp(seconds: float) -> str:
    """Return seconds since 1970 as an RFC 3339 timestamp in UTC with whole seconds."""
    return _format_rfc3339(datetime.fromtimestamp(int(seconds), UTC))


def now() -> str:
    """Return the present time as an RFC 3339 timestamp."""
    return timestamp(time.time())


def _format_rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")[:19] + "Z"  # `Z` in place of `+00:00`.
