"""Three-way merge of a form with a bookmark that has changed since the form was opened."""

import hashlib

import msgspec

from storage.bookmark import WRITABLE_FIELDS, Bookmark, Fields


def field_digests(bookmark: Bookmark) -> str:
    """Return a digest of each field. A form carries them, to find the fields that changed since.

    The service keeps no old versions, and the values themselves would double the size of a form.
    """
    return " ".join(_digest(getattr(bookmark, name)) for name in WRITABLE_FIELDS)


def user_changes(current: Bookmark, fields: Fields, opened: str) -> tuple[Fields, list[str]]:
    """Return the fields of a form that the user has changed, and the names of the conflicts.

    `opened` has the `field_digests` of the bookmark that the form was opened with. A conflict is a
    field that has changed in the current bookmark too, to another value.
    """
    before = dict(zip(WRITABLE_FIELDS, opened.split(), strict=False))
    changed = {name: v for name, v in fields.items() if _digest(v) != before.get(name)}
    saved = {name: _digest(getattr(current, name)) for name in changed}
    conflicts = [n for n, v in changed.items() if saved[n] not in (before.get(n), _digest(v))]
    return changed, conflicts


def _digest(value: object) -> str:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
