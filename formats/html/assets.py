"""The files of the pages: style, script, icons and the web app manifest.

They are served under names that contain their digests.
"""

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

# The pattern of a name that a file is served under. It has a dot, so that it can be no id.
FILE_NAME = r"[a-z]+-[0-9a-f]+\.[a-z]+"
_MEDIA_TYPES = {
    "style.css": "text/css; charset=utf-8",
    "script.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    # Made from icon.svg in 192 and 512 pixels, and in 512 pixels without the round corners.
    "icon.png": "image/png",
    "large.png": "image/png",
    "touch.png": "image/png",
    "app.webmanifest": "application/manifest+json",
}
_ICONS = ("icon.svg", "icon.png", "large.png", "touch.png")


@dataclass(frozen=True)
class Asset:
    """A file of the service itself, with the validators of a resource."""

    media_type: str
    body: bytes
    version: int
    changed_at: float = 0.0


@functools.cache
def assets() -> Mapping[str, Asset]:
    """Return the files by the names that they are served under."""
    return {name_of(file): _read(file) for file in _MEDIA_TYPES}


@functools.cache
def name_of(file: str) -> str:
    """Return the name that a file is served under."""
    stem, _, suffix = file.partition(".")
    return f"{stem}-{_read(file).version:032x}"[: len(stem) + 13] + f".{suffix}"


@functools.cache
def assets_digest() -> str:
    """Return a text that changes when one of the files changes."""
    return hashlib.sha256(" ".join(assets()).encode()).hexdigest()[:12]


@functools.cache
def _read(file: str) -> Asset:
    body = (files(__package__) / file).read_bytes()
    if file == "app.webmanifest":
        for icon in _ICONS:
            body = body.replace(f'"{icon}"'.encode(), f'"{name_of(icon)}"'.encode())
    digest = hashlib.sha256(body).digest()[:16]
    return Asset(_MEDIA_TYPES[file], body, int.from_bytes(digest))
