"""The OpenAPI 3.1 description of the service.

The file `openapi.json` has a schema for each field of a bookmark, such as `Title`. This
module adds the lists of all fields from `storage.bookmark`.
"""

import functools
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from formats.html.assets import Asset
from storage.bookmark import FIELDS, WRITABLE_FIELDS

MEDIA_TYPE = "application/json"
# The schemas of objects with all fields of a bookmark. openapi.json has only what differs
# from the schema of a field, such as `readOnly`.
_OBJECTS = (
    "Bookmark",
    "NewBookmark",
    "BookmarkChanges",
    "NewBookmarkForm",
    "BookmarkChangesForm",
)


def document(base: str, version: str, *, needs_token: bool, public_read: bool) -> Asset:
    """Return the description of the service at the address `base`.

    With `needs_token`, requests need a token. With `public_read`, GET and HEAD do not.
    """
    content, changed_at = _read()
    description = msgspec.json.decode(content)
    _add_fields(description["components"])
    description["info"]["version"] = version
    description["servers"] = [{"url": base}]
    if not needs_token:
        description["security"] = []  # openapi.json requires a token by default.
    elif public_read:
        for path in description["paths"].values():
            for method in {"get", "head"} & path.keys():
                path[method]["security"] = [{}]  # No credentials.
    body = msgspec.json.encode(description) + b"\n"
    digest = int.from_bytes(sha256(body).digest()[:16])  # Entity tags are made of 128 bits.
    return Asset(MEDIA_TYPE, body, digest, changed_at)


def _add_fields(components: dict[str, Any]) -> None:
    """Add all fields to the schemas that list fields."""
    schemas = components["schemas"]
    for name in _OBJECTS:
        overrides = schemas[name]["properties"]
        properties = {}
        for field in FIELDS:
            properties[field] = _schema(field) | overrides.get(field, {})
        schemas[name]["properties"] = properties
    schemas["Bookmark"]["required"] = list(FIELDS)
    schemas["WholeBookmark"]["required"] = list(WRITABLE_FIELDS)
    # `tags` is a list, and openapi.json describes its path /{id}/tags.
    texts = [name for name, field in FIELDS.items() if not field.is_list]
    writable_texts = [name for name in texts if name in WRITABLE_FIELDS]
    schemas["WritableField"]["anyOf"] = [_schema(name) for name in writable_texts]
    parameters = components["parameters"]
    parameters["field"]["schema"]["enum"] = texts
    parameters["writableField"]["schema"]["enum"] = writable_texts


def _schema(field: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{field.capitalize()}"}


@functools.cache
def _read() -> tuple[bytes, float]:
    """Return the content of the file and the time of its last change."""
    file = Path(__file__).with_suffix(".json")
    return file.read_bytes(), file.stat().st_mtime
