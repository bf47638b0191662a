"""Translate between bookmarks and the JSON objects of linkding's API."""

import re
from collections.abc import Mapping

from formats.html.error_page import Problem
from formats.imports.dates import parse_date
from storage import bookmark as rules
from storage.bookmark import Bookmark, Fields, fold_tag, split_tags
from storage.numbers import number_of_id

# The version of linkding that has this API, because clients refuse older versions.
LINKDING_VERSION = "1.44.0"
Members = Mapping[str, object]  # The members of a JSON object, by name.

# This service stores each flag of linkding's bookmarks as a tag.
TAG_BY_FLAG = {"unread": "unread", "is_archived": "archived", "shared": "shared"}
_MEMBER_BY_FIELD = {
    "uri": "url",
    "title": "title",
    "description": "description",
    "tags": "tag_names",
    "created": "date_added",
    "modified": "date_modified",
}
_DATES = ("date_added", "date_modified")
MEMBERS_TO_CREATE = (*_MEMBER_BY_FIELD.values(), "notes", *TAG_BY_FLAG)
MEMBERS_TO_UPDATE = tuple(name for name in MEMBERS_TO_CREATE if name not in _DATES)
_TRUE_IN_JSON_OR_FORM = (True, "true", "True", "1", "on", "yes")
# Clients separate tags by spaces, so this character stands for a space in a tag.
LINKDING_SPACE = "\N{NO-BREAK SPACE}"
# linkding's notes are stored in the description, below this line. The import does the same.
_NOTES_LINE = "Notes:"
_URL_EXISTS_TEXT = "A bookmark with this URL already exists."
# linkding's status for a status of this service, if they differ.
LINKDING_STATUS_BY_STATUS = {409: 400, 410: 404, 422: 400}

# The settings of a linkding user. Clients cannot change them.
PROFILE: Members = {
    "theme": "auto",
    "bookmark_date_display": "relative",
    "bookmark_link_target": "_blank",
    "web_archive_integration": "disabled",
    "tag_search": "lax",  # A search for a word finds tags, too.
    "enable_sharing": False,
    "enable_public_sharing": False,
    "enable_favicons": False,
    "display_url": False,
    "permanent_notes": False,
    "search_preferences": {"sort": "added_desc", "shared": "off", "unread": "off"},
    "version": LINKDING_VERSION,
}


# --- Members of a document ---


def bookmark_document(bookmark: Bookmark) -> Members:
    """Return a bookmark as linkding shows it."""
    description, notes = _split_notes(bookmark.description)
    names = [show_tag(tag) for tag in bookmark.tags if not stores_flag(tag)]
    folded_tags = {fold_tag(tag) for tag in bookmark.tags}
    flags = {flag: tag in folded_tags for flag, tag in TAG_BY_FLAG.items()}
    return {
        "id": number_of_id(bookmark.id),
        "url": bookmark.uri,
        "title": bookmark.title,
        "description": description,
        "notes": notes,
        "web_archive_snapshot_url": _web_archive_url(bookmark),
        "tag_names": names,
        **flags,
        "date_added": show_date(bookmark.created),
        "date_modified": show_date(bookmark.modified),
        # This service does not read web pages, so it does not know these values.
        "favicon_url": None,
        "preview_image_url": None,
        "website_title": None,
        "website_description": None,
    }


def _split_notes(text: str) -> tuple[str, str]:
    """Split a stored description into linkding's description and notes."""
    lines = text.split("\n")
    if _NOTES_LINE not in lines:
        return text, ""
    place = lines.index(_NOTES_LINE)
    description = "\n".join(lines[:place]).rstrip()
    notes = "\n".join(lines[place + 1 :])
    return description, notes


def _join_notes(description: str, notes: str) -> str:
    if not notes:
        return description
    return f"{description}\n\n{_NOTES_LINE}\n{notes}".strip()


def _web_archive_url(bookmark: Bookmark) -> str:
    """Return the address of the Internet Archive's copy nearest to the date."""
    moment = re.sub("[^0-9]", "", bookmark.created)
    return f"https://web.archive.org/web/{moment}/{bookmark.uri}"


def show_tag(tag: str) -> str:
    return tag.replace(" ", LINKDING_SPACE)


def show_date(date: str) -> str:
    return date.replace("Z", ".000000Z")  # The app Pinkt needs a fraction of seconds.


def problem_document(problem: Problem) -> Members:
    """Return linkding's object for an error."""
    if problem.status == 409:
        return {"url": [_URL_EXISTS_TEXT]}
    if problem.status == 400:
        return {"non_field_errors": [problem.detail]}
    if not problem.errors:
        return {"detail": problem.detail}
    reasons_by_member: dict[str, list[str]] = {}
    for field, reason in problem.errors:
        name = _MEMBER_BY_FIELD.get(field, field)
        reasons_by_member.setdefault(name, []).append(reason)
    return reasons_by_member


# --- Members that a client has sent ---


def fields_to_store(
    sent: Members, stored_description: str = "", stored_tags: tuple[str, ...] = ()
) -> Fields:
    """Return the fields of a bookmark that the sent members set. Raises Invalid."""
    fields = {}
    for field, name in _MEMBER_BY_FIELD.items():
        if name in sent:
            fields[field] = sent[name]
    for field in ("created", "modified"):
        if field in fields:
            # If the text is not a date, `rules.clean` raises Invalid.
            fields[field] = parse_date(fields[field]) or fields[field]
    if "description" in sent or "notes" in sent:
        fields["description"] = _new_description(sent, stored_description)
    fields["tags"] = _new_tags(sent, stored_tags)
    return rules.clean(fields)


def _new_description(sent: Members, stored: str) -> str:
    description, notes = _split_notes(stored)
    if "description" in sent:
        description = rules.clean_value("description", sent["description"])
    if "notes" in sent:
        notes = rules.clean_value("description", sent["notes"])
    return _join_notes(description, notes)


def _new_tags(sent: Members, stored: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags to store: the sent names, otherwise the stored ones, and the flags."""
    stored_names = tuple(tag for tag in stored if not stores_flag(tag))
    stored_flags = {fold_tag(tag) for tag in stored if stores_flag(tag)}
    names = stored_names
    if "tag_names" in sent:
        names = parse_tags(sent["tag_names"])
    flags = stored_flags.copy()
    for flag, tag in TAG_BY_FLAG.items():
        if flag not in sent:
            continue
        if sent[flag] in _TRUE_IN_JSON_OR_FORM:
            flags.add(tag)
        else:
            flags.discard(tag)
    if names == stored_names and flags == stored_flags:
        return stored  # Keep the order, so that nothing is changed.
    return (*names, *sorted(flags))


def parse_tags(names: object) -> tuple[str, ...]:
    """Return the tags in an array or a text with commas. Raises Invalid."""
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
