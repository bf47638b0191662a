"""The description of the service for programs: `openapi.json`, in OpenAPI 3.1."""

import functools
from hashlib import sha256
from pathlib import Path

import msgspec

from formats.html.assets import Asset

MEDIA_TYPE = "application/json"


def document(base: str, version: str, needs_token: bool, public_read: bool) -> Asset:
    """Return the description of this version of the service at the address `base`.

    With `needs_token`, every operation needs a token, except those of the pages' files and, with
    `public_read`, GET and HEAD.
    """
    content, changed_at = _read()
    description = msgspec.json.decode(content)
    description["info"]["version"] = version
    description["servers"] = [{"url": base}]
    if not needs_token:
        description["security"] = []  # openapi.json requires a token by default.
    elif public_read:
        for path in description["paths"].values():
            for method in {"get", "head"} & path.keys():
                path[method]["security"] = [{}]  # The empty object stands for no credentials.
    body = msgspec.json.encode(description) + b"\n"
    digest = int.from_bytes(sha256(body).digest()[:16])  # Entity tags are made of 128 bits.
    return Asset(MEDIA_TYPE, body, digest, changed_at)


@functools.cache
def _read() -> tuple[bytes, float]:
    """Return the content of the file and the time of its last change."""
    file = Path(__file__).with_suffix(".json")
    return file.read_bytes(), file.stat().st_mtime
