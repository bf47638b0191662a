"""Three-way merge of a form with a bookmark that has changed since the form was opened."""

import hashlib

import msgspec

from storage.bookmark import WRITABLE_FIELDS, Bookmark, Fields


def field_digests(bookmark: Bookmark) -> str:
    """Return a digest of each field, separated by spaces, in the order of WRITABLE_FIELDS.

    Each form sends back the digests of the values that it was opened with, because the service
    keeps no old versions. The values themselves would make the form twice as large.
    """
    return " ".join(_digest(getattr(bookmark, name)) for name in WRITABLE_FIELDS)


def user_changes(
    current: Bookmark, fields: Fields, initial_field_digests: str
) -> tuple[Fields, list[str]]:
    """Return the fields of a form that the user has changed, and the names of conflicting fields.

    `current` is the bookmark as it is stored now, and `initial_field_digests` are the
    `field_digests` that it had when the user opened the form. A field is a conflict if the user and
    another client have changed it to different values.
    """
    # A forged form may have any number of digests. A field without a digest counts as changed.
    initial_digests = dict(zip(WRITABLE_FIELDS, initial_field_digests.split(), strict=False))
    changed, conflicts = {}, []
    for name, value in fields.items():
        initial_digest = initial_digests.get(name)
        user_digest, current_digest = _digest(value), _digest(getattr(current, name))
        if user_digest != initial_digest:
            changed[name] = value
            if current_digest not in (initial_digest, user_digest):
                conflicts.append(name)
    return changed, conflicts


def _digest(value: object) -> str:
    # 8 bytes keep a form short. Two values with the same digest are too rare to occur by chance.
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
