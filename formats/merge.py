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

    `opened_digests` are the `field_digests` of the bookmark that the form was opened with. A field
    is a conflict if the user and another client have both changed it, to different values.
    """
    # A forged form may have any number of digests. A field without a digest counts as changed.
    opened = dict(zip(WRITABLE_FIELDS, opened_digests.split(), strict=False))
    changed, conflicts = {}, []
    for name, value in fields.items():
        user_digest, current_digest = _digest(value), _digest(getattr(current, name))
        if user_digest != opened.get(name):
            changed[name] = value
            if current_digest not in (opened.get(name), user_digest):
                conflicts.append(name)
    return changed, conflicts


def _digest(value: object) -> str:
    # 8 bytes keep a form short, and only forged values of a field have the same digest.
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
