"""Clean the values of an imported entry, so that a wrong one never costs the bookmark."""

import re
from collections.abc import Mapping

from storage.bookmark import (
    FIELDS,
    MAX_DESCRIPTION,
    MAX_TAGS,
    MAX_TITLE,
    Fields,
    clean,
    fold_tag,
    normalize,
    replace_invalid_xml_chars,
)
from storage.errors import Invalid

_MAX_LENGTHS = {"title": MAX_TITLE, "description": MAX_DESCRIPTION}
_MAX_EXAMINED_ITEMS = 10 * MAX_TAGS  # A hostile file may have millions in one entry.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def clean_leniently(values: Mapping[str, object]) -> tuple[Fields, list[str]]:
    """Return the cleaned fields, and notes about the values that are changed or left out.

    Raises Invalid for an entry without a usable uri.
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
            fields |= clean({name: value})
        except Invalid as error:
            if name == "uri":
                raise
            notes.append(f"{name} left out, because {error}")
    return fields, notes


def _repair_text(name: str, text: str, notes: list[str]) -> str:
    """Return the text without what breaks the rule of its field."""
    text = _replace_halves(name, text, notes)
    if name not in _MAX_LENGTHS:
        return text
    valid = replace_invalid_xml_chars(text, "").strip()
    if len(valid) < len(text.strip()):
        notes.append(f"{name} has characters that no format can have, which are taken out")
    limit = _MAX_LENGTHS[name]
    normalized = normalize(valid[:limit])  # It may be longer than the text.
    if max(len(valid), len(normalized)) > limit:
        notes.append(f"{name} is cut to {limit:,} characters")
    return normalized[:limit]


def _replace_halves(name: str, text: str, notes: list[str]) -> str:
    """Replace each half of a surrogate pair, as browsers do it."""
    whole = _HALF_CHARACTER.sub("\ufffd", text)
    if whole != text:
        notes.append(f"{name} has half a character, which is now U+FFFD")
    return whole


def _valid_items(name: str, items: list[object], notes: list[str]) -> list[str]:
    """Return the valid items of a list such as the tags, up to MAX_TAGS."""
    valid: dict[str, str] = {}
    wrong: list[str] = []
    for item in items[:_MAX_EXAMINED_ITEMS]:
        if isinstance(item, str):
            item = _replace_halves(name, item, notes)
        try:
            for tag in clean({name: [item]})[name]:
                valid.setdefault(fold_tag(tag), tag)
        except Invalid as error:
            wrong.append(str(error))
    if wrong:
        notes.append(f"{len(wrong)} of {name} left out, because {wrong[0]}")
    if len(valid) > MAX_TAGS or len(items) > _MAX_EXAMINED_ITEMS:
        notes.append(f"only the first {MAX_TAGS} {name} are kept")
    return list(valid.values())[:MAX_TAGS]
