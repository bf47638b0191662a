"""A bookmark: its fields and their rules, its uri's comparison key, its file, its id."""

import random
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import TypedDict, TypeVar, cast

import msgspec

from storage.errors import Invalid

FIELDS = ("id", "uri", "title", "description", "tags", "created", "modified")

# Lower case only: two ids never share a file on a case-insensitive disk. No dot, no slash: an id
# is a file's name and a path segment, and neither can leave its place.
ID = re.compile("(?!(?:feed|tags)(?![a-z0-9_-]))[a-z0-9][a-z0-9_-]{0,63}")

MAX_URI = 65_536
MAX_TITLE = 4_096
MAX_DESCRIPTION = 65_536
MAX_TAG = 255
MAX_TAGS = 100

# XML 1.0 section 2.2: what is no Char can be in no XBEL and no Atom document.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BREAK = re.compile("[\t\n\r\u0085\u2028\u2029]+")
_CONTROL = re.compile("[\\s\x00-\x1f\x7f-\x9f]")
_CONTROL_OR_BREAK = re.compile("[,\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# A timestamp as we write it, of a day that every month has.
_CANONICAL = re.compile(
    "(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    "T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
)
# RFC 3339 section 5.6.
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


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
    """What is left of a deleted bookmark: its id and the moment of deletion."""

    id: str
    deleted: str


class Fields(TypedDict, total=False):
    """Some fields of a bookmark, each valid."""

    id: str
    uri: str
    title: str
    description: str
    tags: tuple[str, ...]
    created: str
    modified: str


class _Refused(Exception):
    """A value breaks its field's rule; the text says how."""


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _Refused("must be a string")
    if value.isprintable():
        return value
    if found := _NO_XML.search(value):
        raise _Refused(f"must not contain the character U+{ord(found[0]):04X}")
    return value


def _text(value: object) -> str:
    text = _string(value)
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _limited(text: str, limit: int) -> str:
    if len(text) > limit:
        raise _Refused(f"must be at most {limit:,} characters long, not {len(text):,}")
    return text


def _id(value: object) -> str:
    id = _string(value)
    if not ID.fullmatch(id):
        raise _Refused(
            "must be 1 to 64 of a-z, 0-9, _ and -, begin with a letter or digit, "
            "and be neither feed nor tags"
        )
    return id


def _uri(value: object) -> str:
    uri = _string(value).strip()
    scheme = _SCHEME.match(uri)
    if scheme is None or scheme.end() == len(uri):
        raise _Refused("must be an absolute URI with a scheme, such as https://example.com/")
    # What is printable and no space is neither white space nor a control character.
    if (" " in uri or not uri.isprintable()) and _CONTROL.search(uri):
        raise _Refused("must not contain white space or control characters")
    return _limited(uri, MAX_URI)


def _title(value: object) -> str:
    text = _text(value)
    return _limited((text if text.isprintable() else _BREAK.sub(" ", text)).strip(), MAX_TITLE)


def _description(value: object) -> str:
    text = _text(value).replace("\r\n", "\n").replace("\r", "\n").strip()
    return _limited(text, MAX_DESCRIPTION)


def _tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _Refused("must be an array of strings")
    for item in value:
        if not isinstance(item, str):
            raise _Refused("must contain nothing but strings")
    is_short = max(map(len, value), default=0) <= MAX_TAG
    tags = tuple(map(_tag if is_short else _tag.__wrapped__, value))
    folded = tuple(map(fold_tag, tags))
    if len(set(folded)) < len(tags):
        firsts = dict(zip(reversed(folded), reversed(tags), strict=True))
        tags = tuple(firsts[tag] for tag in dict.fromkeys(folded))
    if len(tags) > MAX_TAGS:
        raise _Refused(f"must be at most {MAX_TAGS} tags, not {len(tags)}")
    return tags


@lru_cache(maxsize=8192)  # A collection's tags are few, and then also kept once.
def _tag(value: str) -> str:
    tag = _text(value).strip()
    if not tag:
        raise _Refused("must not contain an empty tag")
    if found := _CONTROL_OR_BREAK.search(tag):
        raise _Refused(f"must not contain a tag with the character U+{ord(found[0]):04X}")
    if len(tag) > MAX_TAG:
        raise _Refused(f"must not contain a tag of more than {MAX_TAG} characters")
    return tag


def _timestamp(value: object) -> str:
    if isinstance(value, str) and _CANONICAL.fullmatch(value):
        return value
    parts = _TIMESTAMP.fullmatch(_string(value))
    if parts is None:
        raise _Refused("must be an RFC 3339 timestamp, such as 2024-02-29T12:00:00Z")
    day, clock, zone = parts.groups()
    # A leap second, RFC 3339 section 5.7, is held at the last second that datetime knows.
    clock = clock.removesuffix(":60") + ":59" if clock.endswith(":60") else clock
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise _Refused("must be a date and time that exists") from None
    return _rfc3339(moment)


_RULES: Mapping[str, Callable[[object], str | tuple[str, ...]]] = {
    "id": _id,
    "uri": _uri,
    "title": _title,
    "description": _description,
    "tags": _tags,
    "created": _timestamp,
    "modified": _timestamp,
}


def clean(given: Mapping[str, object], wrong: Iterable[tuple[str, str]] = ()) -> Fields:
    """The given fields, each checked and normalized by its rule.

    Raises Invalid naming what was found `wrong` before, and every field that is unknown or breaks
    its rule.
    """
    fields: dict[str, object] = {}
    errors = list(wrong)
    for name, value in given.items():
        rule = _RULES.get(name)
        if rule is None:
            errors.append((_shown(name), "is not a field of a bookmark"))
            continue
        try:
            fields[name] = rule(value)
        except _Refused as refusal:
            errors.append((name, str(refusal)))
    if errors:
        raise Invalid(errors)
    return cast(Fields, fields)


def _shown(name: str) -> str:
    """A stranger's field name, short and printable enough for an error message."""
    return "".join(c if c.isprintable() else "\ufffd" for c in name[:64])


def create(fields: Fields, id: str, now: str) -> Bookmark:
    """A new bookmark of these fields. Raises Invalid if there is no uri."""
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    created = fields.get("created", now)
    return Bookmark(
        id=id,
        uri=fields["uri"],
        title=fields.get("title") or _default_title(fields["uri"]),
        description=fields.get("description", ""),
        tags=fields.get("tags", ()),
        created=created,
        modified=fields.get("modified", created),
    )


def update(bookmark: Bookmark, fields: Fields, now: str) -> Bookmark:
    """The bookmark with the given fields changed; the very same object if no value differs."""
    uri = fields.get("uri", bookmark.uri)
    changed = msgspec.structs.replace(
        bookmark,
        uri=uri,
        title=fields.get("title", bookmark.title) or _default_title(uri),
        description=fields.get("description", bookmark.description),
        tags=fields.get("tags", bookmark.tags),
    )
    return bookmark if changed == bookmark else msgspec.structs.replace(changed, modified=now)


def merge(bookmark: Bookmark, fields: Fields, now: str) -> Bookmark:
    """The bookmark with what another source has of it; the very same object if that adds nothing.

    Tags are united, a title or description that is there stays, the earlier `created` is right.
    Raises Invalid if the tags become too many.
    """
    has_title = bookmark.title != _default_title(bookmark.uri)
    try:
        tags = _tags(bookmark.tags + fields.get("tags", ()))
    except _Refused as refusal:
        raise Invalid([("tags", f"together with those that are there {refusal}")]) from None
    changed = msgspec.structs.replace(
        bookmark,
        title=bookmark.title if has_title else fields.get("title") or bookmark.title,
        description=bookmark.description or fields.get("description", ""),
        tags=tags,
        created=min(bookmark.created, fields.get("created", bookmark.created)),
    )
    return bookmark if changed == bookmark else msgspec.structs.replace(changed, modified=now)


def _default_title(uri: str) -> str:
    """A title for want of one: the uri, as far as a title may be long."""
    return unicodedata.normalize("NFC", uri)[:MAX_TITLE].strip()


def fold(text: str) -> str:
    """The text as it is compared without regard to case."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


@lru_cache(maxsize=8192)
def fold_tag(tag: str) -> str:
    """The tag as it is compared, kept once for all who have it."""
    return fold(tag)


def fit(text: str) -> str:
    """A stranger's text, with a replacement for each character that no format can carry."""
    return _NO_XML.sub("\ufffd", text)


def split_tags(text: str) -> list[str]:
    """The tags in a text where commas or line breaks part them; empty ones are none."""
    return [tag for tag in map(str.strip, re.split("[,\r\n]", text)) if tag]


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as an RFC 3339 timestamp, UTC, whole seconds."""
    return _second(int(seconds))


@lru_cache(maxsize=1)  # Mostly it is now.
def _second(seconds: int) -> str:
    return _rfc3339(datetime.fromtimestamp(seconds, UTC))


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")[:19] + "Z"


# --- The comparison of uris: RFC 3986 section 6.2.2, plus default port and empty path ---

_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21", "ws": "80", "wss": "443"}
_NORMAL = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+/[!-~]*")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}|[^\x00-\x7f]+")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_PORT = re.compile(r":([0-9]*)\Z")


def uri_key(uri: str) -> str:
    """Two uris are the same when their keys are equal; the stored uri is never touched.

    An IRI's characters count as their percent-encoding, RFC 3987 section 3.1.
    """
    if _NORMAL.fullmatch(uri) and "%" not in uri and "/." not in uri:
        return uri
    scheme, _, rest = uri.partition(":")
    scheme = scheme.lower()
    rest, hash, fragment = rest.partition("#")
    path, question, query = rest.partition("?")
    authority = ""
    if path.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        authority = "//" + _authority_key(scheme, authority)
        path = slash + path or "/"
    path = _percent_key(path)
    if path.startswith("/"):
        path = _without_dot_segments(path)
    if path.startswith("//") and not authority:
        path = "/." + path
    query, fragment = _percent_key(query), _percent_key(fragment)
    return f"{scheme}:{authority}{path}{question}{query}{hash}{fragment}"


def _authority_key(scheme: str, authority: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    port = _PORT.search(host)
    if port and port[1] in ("", _DEFAULT_PORTS.get(scheme)):
        host = host[: port.start()]
    return _percent_key(userinfo) + at + _percent_key(_percent_key(host.lower()).lower())


def _percent_key(text: str) -> str:
    return _ESCAPED.sub(_one_percent_key, text)


def _one_percent_key(found: re.Match[str]) -> str:
    text = found[0]
    if not text.isascii():
        return "".join(f"%{byte:02X}" for byte in text.encode("utf-8"))
    character = chr(int(text[1:], 16))
    return character if _UNRESERVED.fullmatch(character) else text.upper()


def _without_dot_segments(path: str) -> str:
    """RFC 3986 section 5.2.4, for a path that begins with a slash."""
    segments = path.split("/")[1:]
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


# --- The file of a bookmark ---


class _Record(msgspec.Struct, gc=False):
    """What a bookmark's file must hold; more is allowed, and kept."""

    id: str
    uri: str
    created: str
    title: str = ""
    description: str = ""
    tags: list[str] = []
    modified: str | None = None


_T = TypeVar("_T")
_BOM = b"\xef\xbb\xbf"  # Some editors put it in front.
_record = msgspec.json.Decoder(_Record)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_tombstone = msgspec.json.Decoder(Tombstone)


def from_file(id: str, data: bytes) -> Bookmark:
    """The bookmark that a file `{id}.json` with these bytes holds.

    Raises Invalid, for the field that is wrong or for the "file" as a whole.
    """
    record = _decoded(_record, data)
    if record.id != id:
        raise Invalid([("id", f"is {_shown(record.id)!r} inside the file")])
    modified = record.modified
    if modified is None or modified == record.created:  # One object does for both.
        modified = record.created
    try:
        uri = _uri(record.uri)
        return Bookmark(
            id,
            uri,
            _title(record.title) or _default_title(uri),
            _description(record.description),
            _tags(record.tags),
            _timestamp(record.created),
            _timestamp(modified),
        )
    except _Refused:
        given = {name: getattr(record, name) for name in FIELDS}
        clean(given | {"modified": modified})  # Names the fields.
        raise


def tombstone_from_file(id: str, data: bytes) -> Tombstone:
    """The tombstone that a file `{id}.json` with these bytes holds. Raises Invalid."""
    tombstone = _decoded(_tombstone, data)
    if tombstone.id != id:
        raise Invalid([("id", f"is {_shown(tombstone.id)!r} inside the file")])
    try:
        return Tombstone(id, _timestamp(tombstone.deleted))
    except _Refused as refusal:
        raise Invalid([("deleted", str(refusal))]) from None


def _decoded(decoder: msgspec.json.Decoder[_T], data: bytes) -> _T:
    try:
        return decoder.decode(data.removeprefix(_BOM))
    except RecursionError:
        raise Invalid([("file", "is nested too deep")]) from None
    except ValueError as error:
        raise Invalid([("file", f"is no valid JSON of this kind: {error}")]) from None


def to_file(value: Bookmark | Tombstone, before: bytes = b"", limit: int | None = None) -> bytes:
    """The bytes of its file, with the members that its file had `before` and we don't know.

    All that was there keeps its place. They are indented for people, if that keeps them within
    the limit. Raises Invalid if they are too many or nested too deep for it.
    """
    dense = msgspec.json.encode(value)
    try:
        if before:
            members = _members.decode(before.removeprefix(_BOM))
            dense = msgspec.json.encode(members | _members.decode(dense))
        data = msgspec.json.format(dense, indent=2) + b"\n"
    except RecursionError:
        raise Invalid([("file", "is nested too deep")]) from None
    if limit is None or len(data) <= limit:
        return data
    if len(dense) <= limit:
        return dense
    raise Invalid([("file", f"would be larger than {limit:,} bytes")])


def digest(data: bytes) -> int:
    """128 bits that identify a file's content: the version of what it holds."""
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "big")


# --- Ids ---

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_TSID_EPOCH_MS = 1_577_836_800_000  # 2020-01-01T00:00:00Z


class Minter:
    """Mints TSIDs: 42 bits of milliseconds since 2020, then 22 random ones that count upwards.

    Ids of one minter ascend strictly; those of several machines differ without coordination. While
    the clock says that it is before 2020, as it does where none runs on, all bits are random.
    """

    def __init__(self) -> None:
        self._last = 0
        self._turn = threading.Lock()

    def mint(self) -> str:
        """A new id: 13 characters of lower-case Crockford base32."""
        now, number = int(time.time() * 1000) - _TSID_EPOCH_MS, random.getrandbits(64)
        if now > 0:
            with self._turn:
                number = self._last = max(now << 22 | number >> 42, self._last + 1)
        return "".join([_CROCKFORD[number >> shift & 31] for shift in range(60, -1, -5)])
