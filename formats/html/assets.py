"""The files of the pages: style, script, icons and the web app manifest."""

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

# Such as `style-0123456789ab.css`. Ids have no dot, so they never match.
FILE_NAME = r"[a-z]+-[0-9a-f]+\.[a-z]+"
_MEDIA_TYPES = {
    "style.css": "text/css; charset=utf-8",
    "script.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    # The next three are made from icon.svg.
    "icon.png": "image/png",
    "large.png": "image/png",
    "touch.png": "image/png",
    "app.webmanifest": "application/manifest+json",
}
_DIGITS_IN_NAME = 12


@dataclass(frozen=True)
class Asset:
    media_type: str
    body: bytes
    version: int  # A digest of the body.
    changed_at: float = 0.0


@functools.cache
def assets() -> Mapping[str, Asset]:
    return {served_name(file): _read(file) for file in _MEDIA_TYPES}


@functools.cache
def served_name(file: str) -> str:
    """Return a name with a digest of the file, so that browsers may cache the file for ever."""
    stem, _, suffix = file.partition(".")
    digest = f"{_read(file).version:032x}"[:_DIGITS_IN_NAME]
    return f"{stem}-{digest}.{suffix}"


@functools.cache
def _read(file: str) -> Asset:
    body = (files(__package__) / file).read_bytes()
    if file == "app.webmanifest":
        body = _with_served_names(body)
    digest = hashlib.sha256(body).digest()[:16]
    return Asset(_MEDIA_TYPES[file], body, version=int.from_bytes(digest))


def _with_served_names(manifest: bytes) -> bytes:
    for icon in ("icon.svg", "icon.png", "large.png", "touch.png"):
        old = f'"{icon}"'
        new = f'"{served_name(icon)}"'
        manifest = manifest.replace(old.encode(), new.encode())
    return manifest
