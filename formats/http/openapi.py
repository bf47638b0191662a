"""The OpenAPI 3.1 description of the service, made from `openapi.json`."""

import functools
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from formats.html.assets import Asset
from storage.bookmark import FIELDS, WRITABLE_FIELDS

MEDIA_TYPE = "application/json"
# These schemas have all fields of a bookmark. openapi.json has only their `overrides`.
_SCHEMAS_WITH_ALL_FIELDS = (
    "Bookmark",
    "NewBookmark",
    "BookmarkChanges",
    "NewBookmarkForm",
    "BookmarkChangesForm",
)


def document(base: str, version: str, *, needs_token: bool, public_read: bool) -> Asset:
    """Return the description of the service at the address `base`."""
    content, changed_at = _read()
    description = msgspec.json.decode(content)
    description["info"]["version"] = version
    description["servers"] = [{"url": base}]
    _set_properties(description["components"]["schemas"])
    _set_field_names(description["components"])
    _set_security(description, needs_token, public_read)
    body = msgspec.json.encode(description) + b"\n"
    digest = int.from_bytes(sha256(body).digest()[:16])
    return Asset(MEDIA_TYPE, body, digest, changed_at)


def _set_properties(schemas: dict[str, Any]) -> None:
    for name in _SCHEMAS_WITH_ALL_FIELDS:
        overrides = schemas[name]["properties"]
        schemas[name]["properties"] = {
            field: _reference(field) | overrides.get(field, {}) for field in FIELDS
        }
    schemas["Bookmark"]["required"] = list(FIELDS)
    schemas["WholeBookmark"]["required"] = list(WRITABLE_FIELDS)


def _set_field_names(components: dict[str, Any]) -> None:
    """Allow each field in paths such as `/{id}/{field}`, except `tags`, which has its own path."""
    texts = [name for name, field in FIELDS.items() if not field.is_list]
    writable_texts = [name for name in texts if name in WRITABLE_FIELDS]
    references = [_reference(name) for name in writable_texts]
    components["schemas"]["WritableField"]["anyOf"] = references
    parameters = components["parameters"]
    parameters["field"]["schema"]["enum"] = texts
    parameters["writableField"]["schema"]["enum"] = writable_texts


def _reference(field: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{field.capitalize()}"}


def _set_security(
    description: dict[str, Any], needs_token: bool, public_read: bool
) -> None:
    """Remove the token from operations that do not need one."""
    if not needs_token:
        description["security"] = []
    elif public_read:
        for path in description["paths"].values():
            for method in ("get", "head"):
                if method in path:
                    path[method]["security"] = [{}]  # Credentials are optional.


@functools.cache
def _read() -> tuple[bytes, float]:
    file = Path(__file__).with_suffix(".json")
    return file.read_bytes(), file.stat().st_mtime
