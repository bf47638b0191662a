"""The OpenAPI 3.1 description of the service.

The file `openapi.json` has a schema for each field of a bookmark, such as `Title`.
"""

import functools
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from formats.html.assets import Asset
from storage.bookmark import FIELDS, WRITABLE_FIELDS

MEDIA_TYPE = "application/json"
# These schemas get all fields of a bookmark. openapi.json lists only exceptions in them,
# such as `readOnly`.
_SCHEMAS_WITH_ALL_FIELDS = (
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
    components = description["components"]
    _add_fields(components["schemas"])
    _list_texts(components["schemas"], components["parameters"])
    description["info"]["version"] = version
    description["servers"] = [{"url": base}]
    if not needs_token:
        description["security"] = []  # openapi.json requires a token by default.
    elif public_read:
        for path in description["paths"].values():
            for method in {"get", "head"} & path.keys():
                path[method]["security"] = [{}]  # No credentials.
    body = msgspec.json.encode(description) + b"\n"
    digest = int.from_bytes(sha256(body).digest()[:16])
    return Asset(MEDIA_TYPE, body, digest, changed_at)


def _add_fields(schemas: dict[str, Any]) -> None:
    for name in _SCHEMAS_WITH_ALL_FIELDS:
        exceptions = schemas[name]["properties"]
        schemas[name]["properties"] = {
            field: _schema(field) | exceptions.get(field, {}) for field in FIELDS
        }
    schemas["Bookmark"]["required"] = list(FIELDS)
    schemas["WholeBookmark"]["required"] = list(WRITABLE_FIELDS)


def _list_texts(schemas: dict[str, Any], parameters: dict[str, Any]) -> None:
    """List the fields of /{id}/{field}. openapi.json describes /{id}/tags separately."""
    texts = [name for name, field in FIELDS.items() if not field.is_list]
    writable_texts = [name for name in texts if name in WRITABLE_FIELDS]
    schemas["WritableField"]["anyOf"] = [_schema(name) for name in writable_texts]
    parameters["field"]["schema"]["enum"] = texts
    parameters["writableField"]["schema"]["enum"] = writable_texts


def _schema(field: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{field.capitalize()}"}


@functools.cache
def _read() -> tuple[bytes, float]:
    """Return the content of openapi.json and the time of its last change."""
    file = Path(__file__).with_suffix(".json")
    return file.read_bytes(), file.stat().st_mtime
