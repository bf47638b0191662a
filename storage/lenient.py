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
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_leniently(values: Mapping[str, object]) -> tuple[Fields, list[str]]:
    """Return the cleaned fields, and notes about values that are changed or left out.

    Raises Invalid if the uri is wrong.
    """
    try:
        return clean(values), []
    except Invalid:
        cleaner = _LenientCleaner()
        return cleaner.clean(values), cleaner.notes


class _LenientCleaner:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def clean(self, values: Mapping[str, object]) -> Fields:
        fields: Fields = {}
        for name, value in values.items():
            try:
                fields[name] = clean_value(name, self._repair(name, value))
            except Invalid as error:
                if name == "uri":
                    raise
                self.notes.append(f"{name} left out, because {error}")
        return fields

    def _repair(self, name: str, value: object) -> object:
        if isinstance(value, str):
            text = self._replace_lone_surrogates(name, value)
            if name in _MAX_LENGTHS:
                return self._repair_text(name, text, _MAX_LENGTHS[name])
            return text
        if isinstance(value, list) and FIELDS[name].is_list:
            return self._repair_list(name, value)
        return value

    def _replace_lone_surrogates(self, name: str, text: str) -> str:
        whole = _LONE_SURROGATE.sub("\ufffd", text)
        if whole != text:
            self.notes.append(f"{name} has half a character, which is now U+FFFD")
        return whole

    def _repair_text(self, name: str, text: str, limit: int) -> str:
        trimmed = text.strip()
        valid = replace_invalid_xml_chars(trimmed, "").strip()
        if len(valid) < len(trimmed):
            self.notes.append(
                f"{name} has characters that no format can have, which are taken out"
            )
        normalized = normalize(valid[:limit])
        has_grown = len(normalized) > limit
        if len(valid) > limit or has_grown:
            self.notes.append(f"{name} is cut to {limit:,} characters")
        return normalized[:limit]

    def _repair_list(self, name: str, items: list[object]) -> list[str]:
        parts = self._split_at_commas(name, items)
        unique = unique_tags(self._clean_items(name, parts[:_MAX_EXAMINED_ITEMS]))
        has_unexamined_items = len(parts) > _MAX_EXAMINED_ITEMS
        if has_unexamined_items or len(unique) > MAX_TAGS:
            self.notes.append(f"only the first {MAX_TAGS} {name} are kept")
        return unique[:MAX_TAGS]

    def _split_at_commas(self, name: str, items: list[object]) -> list[object]:
        parts: list[object] = []
        for item in items:
            if isinstance(item, str) and "," in item:
                parts += from_text(name, item)
            else:
                parts.append(item)
        if parts != items:
            self.notes.append(f"{name} with commas are split")
        return parts

    def _clean_items(self, name: str, items: list[object]) -> list[str]:
        valid: list[str] = []
        errors: list[str] = []
        for item in items:
            try:
                valid.append(self._clean_item(name, item))
            except Invalid as error:
                # `_clean_item` checks a list of one item, whose index is always 0.
                errors.append(str(error).removesuffix(" at index 0"))
        if errors:
            self.notes.append(f"{len(errors)} of {name} left out, because {errors[0]}")
        return valid

    def _clean_item(self, name: str, item: object) -> str:
        if isinstance(item, str):
            item = self._replace_lone_surrogates(name, item)
        return str(clean_value(name, [item])[0])
