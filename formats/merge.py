"""Three-way merge of a form with a bookmark that has changed since the form was opened."""

import hashlib

import msgspec

from storage.bookmark import WRITABLE_FIELDS, Bookmark, Fields


def field_digests(bookmark: Bookmark) -> str:
    """Return a digest of each field, separated by spaces, in the order of WRITABLE_FIELDS.

    A form carries the digests that the bookmark had when the form was opened, because the service
    keeps no old versions. Carrying the old values would double the size of the form.
    """
    return " ".join(_digest(getattr(bookmark, name)) for name in WRITABLE_FIELDS)


def user_changes(
    current: Bookmark, fields: Fields, opened_digests: str
) -> tuple[Fields, list[str]]:
    """Return the fields of a form that the user has changed, and the names of the conflicts.

    `opened_digests` are the `field_digests` of the bookmark that the form was opened with. There is
    a conflict in a field that another client has changed too, to another value than the user.
    """
    # A form can be forged: without its digest, a field counts as changed.
    opened = dict(zip(WRITABLE_FIELDS, opened_digests.split(), strict=False))
    changed = {name: v for name, v in fields.items() if _digest(v) != opened.get(name)}
    stored = {name: _digest(getattr(current, name)) for name in changed}
    conflicts = [n for n, v in changed.items() if stored[n] not in (opened.get(n), _digest(v))]
    return changed, conflicts


def _digest(value: object) -> str:
    # 8 bytes keep a form short: two values of one field have the same digest only by forgery.
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
