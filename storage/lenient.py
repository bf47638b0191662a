"""Clean imported entries: repair wrong values or leave them out."""

import re
from collections.abc import Mapping

from storage.bookmark import (
    FIELDS,
    MAX_DESCRIPTION,
    MAX_TAGS,
    MAX_TITLE,
    Fields,
    clean,
    clean_value,
    from_text,
    normalize,
    replace_invalid_xml_chars,
    unique_tags,
)
from storage.errors import Invalid

_MAX_LENGTHS = {"title": MAX_TITLE, "description": MAX_DESCRIPTION}
# A hostile file may have millions of tags in one entry.
_MAX_EXAMINED_ITEMS = 10 * MAX_TAGS
# One half of a pair that stands for a character in UTF-16.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_leniently(values: Mapping[str, object]) -> tuple[Fields, list[str]]:
    """Return the cleaned fields, and notes about values that are changed or left out.

    Raises Invalid if the uri is wrong.
    """
    try:
        return clean(values), []
    except Invalid:
        return _clean_each(values)


def _clean_each(values: Mapping[str, object]) -> tuple[Fields, list[str]]:
    fields: Fields = {}
    notes: list[str] = []
    for name, value in values.items():
        if isinstance(value, str):
            value = _repair_text(name, value, notes)
        elif isinstance(value, list) and FIELDS[name].is_list:
            value = _valid_items(name, value, notes)
        try:
            fields[name] = clean_value(name, value)
        except Invalid as error:
            if name == "uri":
                raise
            notes.append(f"{name} left out, because {error}")
    return fields, notes


def _repair_text(name: str, text: str, notes: list[str]) -> str:
    text = _replace_lone_surrogates(name, text, notes)
    if name not in _MAX_LENGTHS:
        return text
    valid = replace_invalid_xml_chars(text, "").strip()
    if len(valid) < len(text.strip()):
        notes.append(f"{name} has characters that no format can have, which are taken out")
    limit = _MAX_LENGTHS[name]
    normalized = normalize(valid[:limit])  # NFC may make it longer.
    if max(len(valid), len(normalized)) > limit:
        notes.append(f"{name} is cut to {limit:,} characters")
    return normalized[:limit]


def _replace_lone_surrogates(name: str, text: str, notes: list[str]) -> str:
    """Replace lone surrogates by U+FFFD, as browsers do."""
    whole = _LONE_SURROGATE.sub("\ufffd", text)
    if whole != text:
        notes.append(f"{name} has half a character, which is now U+FFFD")
    return whole


def _valid_items(name: str, items: list[object], notes: list[str]) -> list[str]:
    valid: list[str] = []
    errors: list[str] = []
    for item in _split_at_commas(name, items, notes)[:_MAX_EXAMINED_ITEMS]:
        try:
            valid.append(_clean_item(name, item, notes))
        except Invalid as error:
            # The index is always 0, because each item is checked alone.
            reason, _, _ = str(error).rpartition(" at index ")
            errors.append(reason)
    if errors:
        notes.append(f"{len(errors)} of {name} left out, because {errors[0]}")
    unique = unique_tags(valid)
    # Items that were not examined may be valid.
    has_unexamined_items = len(items) > _MAX_EXAMINED_ITEMS
    if has_unexamined_items or len(unique) > MAX_TAGS:
        notes.append(f"only the first {MAX_TAGS} {name} are kept")
    return unique[:MAX_TAGS]


def _split_at_commas(name: str, items: list[object], notes: list[str]) -> list[object]:
    """Return the items. An item such as `"a, b"` becomes two."""
    parts: list[object] = []
    for item in items:
        if isinstance(item, str) and "," in item:
            parts += from_text(name, item)
        else:
            parts.append(item)
    if parts != items:
        notes.append(f"{name} with commas are split")
    return parts


def _clean_item(name: str, item: object, notes: list[str]) -> str:
    if isinstance(item, str):
        item = _replace_lone_surrogates(name, item, notes)
    return str(clean_value(name, [item])[0])
