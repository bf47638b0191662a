"""Translate between bookmarks and the JSON objects of linkding's API."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from formats.html.error_page import Problem
from formats.imports.dates import parse_date
from storage import bookmark as rules
from storage.bookmark import Bookmark, Fields, fold_tag, split_tags, tags_without
from storage.errors import Invalid
from storage.numbers import number_of_id

LINKDING_VERSION = "1.44.0"  # Clients refuse older versions.
Document = Mapping[str, object]  # A JSON object of linkding's API.

TAG_BY_FLAG = {"unread": "unread", "is_archived": "archived", "shared": "shared"}
_KEY_BY_FIELD = {
    "uri": "url",
    "title": "title",
    "description": "description",
    "tags": "tag_names",
    "created": "date_added",
    "modified": "date_modified",
}
_DATES = ("date_added", "date_modified")
KEYS_TO_CREATE = (*_KEY_BY_FIELD.values(), "notes", *TAG_BY_FLAG)
KEYS_TO_UPDATE = tuple(key for key in KEYS_TO_CREATE if key not in _DATES)
# The values of the BooleanField of Django REST framework, in any case.
_TRUE_VALUES = (True, "t", "y", "yes", "true", "on", "1")
_FALSE_VALUES = (False, "f", "n", "no", "false", "off", "0", "")
# linkding's tags have no spaces. Clients get this character in place of a space.
LINKDING_SPACE = "\N{NO-BREAK SPACE}"
# linkding's notes are stored in the description, below this line.
_NOTES_LINE = "Notes:"
_URL_EXISTS_TEXT = "A bookmark with this URL already exists."
LINKDING_STATUS_BY_STATUS = {409: 400, 410: 404, 422: 400}

PROFILE: Document = {
    "theme": "auto",
    "bookmark_date_display": "relative",
    "bookmark_link_target": "_blank",
    "web_archive_integration": "disabled",
    "tag_search": "lax",
    "enable_sharing": False,
    "enable_public_sharing": False,
    "enable_favicons": False,
    "display_url": False,
    "permanent_notes": False,
    "search_preferences": {"sort": "added_desc", "shared": "off", "unread": "off"},
    "version": LINKDING_VERSION,
}


def bookmark_document(bookmark: Bookmark) -> Document:
    description, notes = _split_notes(bookmark.description)
    names = [linkding_tag(tag) for tag in bookmark.tags if not stores_flag(tag)]
    return {
        "id": number_of_id(bookmark.id),
        "url": bookmark.uri,
        "title": bookmark.title,
        "description": description,
        "notes": notes,
        "web_archive_snapshot_url": _web_archive_url(bookmark),
        "tag_names": names,
        **_flags(bookmark),
        "date_added": linkding_date(bookmark.created),
        "date_modified": linkding_date(bookmark.modified),
        "favicon_url": None,
        "preview_image_url": None,
        "website_title": None,
        "website_description": None,
    }


def _flags(bookmark: Bookmark) -> dict[str, bool]:
    folded_tags = {fold_tag(tag) for tag in bookmark.tags}
    return {flag: tag in folded_tags for flag, tag in TAG_BY_FLAG.items()}


def _split_notes(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    if _NOTES_LINE not in lines:
        return text, ""
    index = lines.index(_NOTES_LINE)
    description = "\n".join(lines[:index]).rstrip()
    notes = "\n".join(lines[index + 1 :])
    return description, notes


def _join_notes(description: str, notes: str) -> str:
    if not notes:
        return description
    return f"{description}\n\n{_NOTES_LINE}\n{notes}".strip()


def _web_archive_url(bookmark: Bookmark) -> str:
    digits = re.sub("[^0-9]", "", bookmark.created)
    return f"https://web.archive.org/web/{digits}/{bookmark.uri}"


def linkding_tag(tag: str) -> str:
    return tag.replace(" ", LINKDING_SPACE)


def linkding_date(date: str) -> str:
    return date.replace("Z", ".000000Z")  # The app Pinkt needs fractions of seconds.


def problem_document(problem: Problem) -> Document:
    if problem.status == 409:
        return {"url": [_URL_EXISTS_TEXT]}
    if problem.status == 400:
        return {"non_field_errors": [problem.detail]}
    if not problem.errors:
        return {"detail": problem.text}
    reasons_by_key: dict[str, list[str]] = {}
    for field, reason in problem.errors:
        key = _KEY_BY_FIELD.get(field, field)
        reasons_by_key.setdefault(key, []).append(reason)
    return reasons_by_key


def fields_to_store(
    sent: Document, stored_description: str = "", stored_tags: tuple[str, ...] = ()
) -> Fields:
    """Return the fields to store for linkding's JSON. Raises Invalid.

    Notes become a part of the description, and flags become tags. Values that the client does
    not send stay as they are stored.
    """
    fields = {}
    for field, key in _KEY_BY_FIELD.items():
        if key in sent:
            fields[field] = sent[key]
    for field in ("created", "modified"):
        if field in fields:
            date = parse_date(fields[field])
            if date:  # `rules.clean` refuses an empty date.
                fields[field] = date
    if "description" in sent or "notes" in sent:
        fields["description"] = _new_description(sent, stored_description)
    fields["tags"] = _new_tags(sent, stored_tags)
    return rules.clean(fields)


def _new_description(sent: Document, stored: str) -> str:
    description, notes = _split_notes(stored)
    if "description" in sent:
        text = rules.clean_value("description", sent["description"])
        # Without a space at its end, a line `Notes:` would begin the notes.
        description = re.sub(f"(?m)^{_NOTES_LINE}$", f"{_NOTES_LINE} ", text)
    if "notes" not in sent:
        return _join_notes(description, notes)
    with errors_named("notes"):
        notes = rules.clean_value("description", sent["notes"])
        joined = _join_notes(description, notes)
        return str(rules.clean_value("description", joined))


@contextmanager
def errors_named(key: str) -> Iterator[None]:
    """Name this key of linkding's JSON in every error of the block."""
    try:
        yield
    except Invalid as error:
        raise Invalid([(key, reason) for _, reason in error.errors]) from None


def _new_tags(sent: Document, stored: tuple[str, ...]) -> tuple[str, ...]:
    tags = list(stored)
    if "tag_names" in sent:
        tags = _with_names(tags, list(parse_tags(sent["tag_names"])))
    for flag, tag in TAG_BY_FLAG.items():
        if flag in sent:
            tags = _with_flag_tag(tags, tag, _parse_flag(flag, sent[flag]))
    return tuple(tags)


def _parse_flag(flag: str, value: object) -> bool:
    if isinstance(value, str):
        value = value.lower()
    if value in _TRUE_VALUES:
        return True
    if value in _FALSE_VALUES:
        return False
    raise Invalid([(flag, "Must be a valid boolean.")])


def _with_names(tags: list[str], names: list[str]) -> list[str]:
    """Replace all tags except the flags."""
    if names == [tag for tag in tags if not stores_flag(tag)]:
        return tags  # The flags keep their places among the tags.
    flag_tags = [tag for tag in tags if stores_flag(tag)]
    return [*names, *flag_tags]


def _with_flag_tag(tags: list[str], flag_tag: str, is_set: bool) -> list[str]:
    if not is_set:
        return tags_without(tags, [flag_tag])
    if flag_tag in map(fold_tag, tags):
        return tags
    return [*tags, flag_tag]


def parse_tags(names: object) -> tuple[str, ...]:
    """Return the tags in an array, or in a text with commas. Raises Invalid."""
    if isinstance(names, str):
        names = [names]
    if isinstance(names, list):
        names = _split_at_commas(names)
    tags = rules.clean_value("tags", names)
    return tuple(tag.replace(LINKDING_SPACE, " ") for tag in tags)


def _split_at_commas(names: list[object]) -> list[object]:
    parts: list[object] = []
    for name in names:
        if isinstance(name, str):
            parts += split_tags(name)
        else:
            parts.append(name)
    return parts


def stores_flag(tag: str) -> bool:
    return fold_tag(tag) in TAG_BY_FLAG.values()
