"""The shapes of what is sent and received, as JSON Schema, with the limits of its fields."""

from collections.abc import Mapping

from storage.bookmark import (
    FIELDS,
    MAX_DESCRIPTION,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    MAX_URI,
)

Schema = dict[str, object]

# In the regular expressions that JSON Schema, Python and JavaScript have in common: what XML 1.0
# cannot carry; control characters and line breaks; the white space that is trimmed off the ends.
_NO_XML = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff"
_CONTROL = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
_SPACE = r"\t\n\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NO_TAG = rf",{_CONTROL}\ufffe\uffff"

_URI = rf"[A-Za-z][A-Za-z0-9+.\-]*:[^{_CONTROL}{_SPACE}\ufffe\uffff]+"
_TAG = rf"[^{_NO_TAG}{_SPACE}](?:[^{_NO_TAG}]{{0,{MAX_TAG - 2}}}[^{_NO_TAG}{_SPACE}])?"
_TEXT = f"^[^{_NO_XML}]*$"
# Tags in one text, parted by commas.
_TAGS = rf"^[^{_NO_TAG}]{{0,{MAX_TAG}}}(?:,[^{_NO_TAG}]{{0,{MAX_TAG}}}){{0,{MAX_TAGS - 1}}}$"

ANY: Schema = {}  # What JSON Schema cannot describe.
TEXT: Schema = {"type": "string"}
ID: Schema = {"type": "string", "pattern": "^(?!(?:feed|tags)$)[a-z0-9][a-z0-9_-]{0,63}$"}
TIMESTAMP: Schema = {"type": "string", "format": "date-time", "pattern": "^(?!0000)"}
TAGS_TEXT: Schema = {"type": "string", "pattern": _TAGS}

# The fields as they are sent; white space at the ends is trimmed off.
GIVEN: Mapping[str, Schema] = {
    "id": ID | {"readOnly": True, "description": "That of the address, or absent."},
    "uri": {
        "type": "string",
        "pattern": f"^[{_SPACE}]*{_URI}[{_SPACE}]*$",
        "maxLength": MAX_URI,
        "examples": ["https://example.com/"],
    },
    "title": {"type": "string", "pattern": _TEXT, "maxLength": MAX_TITLE},
    "description": {"type": "string", "pattern": _TEXT, "maxLength": MAX_DESCRIPTION},
    "tags": {
        "type": "array",
        "items": {"type": "string", "pattern": f"^[{_SPACE}]*{_TAG}[{_SPACE}]*$"},
        "maxItems": MAX_TAGS,
        "description": "One that equals an earlier one without regard to case is dropped.",
    },
    "created": TIMESTAMP | {"description": "Taken when the bookmark is created, else ignored."},
    "modified": TIMESTAMP | {"description": "Taken when the bookmark is created, else ignored."},
}
# The fields as they are received.
KEPT: Mapping[str, Schema] = {
    "id": ID,
    "uri": {"type": "string", "pattern": f"^{_URI}$", "maxLength": MAX_URI},
    "title": {"type": "string", "minLength": 1, "maxLength": MAX_TITLE},
    "description": {"type": "string", "maxLength": MAX_DESCRIPTION},
    "tags": {
        "type": "array",
        "items": {"type": "string", "pattern": f"^{_TAG}$"},
        "maxItems": MAX_TAGS,
        "uniqueItems": True,
    },
    "created": TIMESTAMP,
    "modified": TIMESTAMP,
}
WHOLE = ("uri", "title", "description", "tags")


def given(*required: str, **others: Schema) -> Schema:
    """An object of the fields as they are sent, of which these are required, and of others."""
    return _object({**GIVEN, **others}, required)


def _object(properties: Mapping[str, Schema], required: tuple[str, ...]) -> Schema:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | ({"required": list(required)} if required else {})


def _array(items: str) -> Schema:
    return {"type": "array", "items": ref(items)}


def ref(name: str) -> Schema:
    """One of SCHEMAS, by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


_COUNT: Schema = {"type": "integer", "minimum": 0}
_UPDATED = {name: TIMESTAMP | {"readOnly": True} for name in ("created", "modified")}
_FORM = {
    "tags": {
        "type": "array",
        "items": TAGS_TEXT,
        "maxItems": MAX_TAGS,
        "description": "Several, or one with commas, or both.",
    },
    "_version": TEXT | {"description": "What the form was made of; 412 if it has changed since."},
}
_METHOD: Schema = {"enum": ["POST", "DELETE"], "description": "DELETE deletes the bookmark."}

SCHEMAS: Mapping[str, Schema] = {
    "Bookmark": _object(KEPT, FIELDS),
    "Bookmarks": _array("Bookmark"),
    "NewBookmark": given("uri"),
    "WholeBookmark": given(*WHOLE),
    "Changes": given(**_UPDATED),
    "NewForm": given("uri", **_FORM),
    "ChangesForm": given(**_UPDATED, **_FORM, _method=_METHOD),
    "NewFormOrFile": {
        "type": "object",
        "properties": {"file": {"format": "binary", "description": "A whole file, to import."}},
        "anyOf": [ref("NewForm"), {"required": ["file"]}],
    },
    "TagCounts": {"type": "array", "items": ref("TagCount")},
    "TagCount": _object({"tag": TEXT, "count": _COUNT | {"minimum": 1}}, ("tag", "count")),
    "Report": _object(
        {
            **dict.fromkeys(("created", "updated", "unchanged", "skipped"), _COUNT),
            "entries": _array("Skipped"),
        },
        ("created", "updated", "unchanged", "skipped", "entries"),
    ),
    "Skipped": _object(
        {"line": _COUNT, "value": TEXT, "reason": TEXT}, ("line", "value", "reason")
    ),
    "Problem": {
        "type": "object",
        "properties": {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": TEXT,
            "errors": _array("FieldError"),
            "bookmark": TEXT | {"format": "uri", "description": "The one that has this uri."},
        },
        "required": ["type", "title", "status", "detail"],
    },
    "FieldError": _object({"field": TEXT, "reason": TEXT}, ("field", "reason")),
}
