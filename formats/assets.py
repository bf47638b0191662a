"""The page's style, script and icon: the files of `page/`, served under a name with their hash."""

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

_MEDIA_TYPES = {
    "style.css": "text/css; charset=utf-8",
    "script.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """One of the files. What stands under a name that says its content never changes."""

    media_type: str
    body: bytes
    version: int
    touched: float = 0.0


@functools.cache
def assets() -> Mapping[str, Asset]:
    """The files by the names that they are served under, read once and for all."""
    return {_name(file): _read(file) for file in _MEDIA_TYPES}


@functools.cache
def name_of(file: str) -> str:
    """The name that a file of `page/` is served under. It has a dot, so that it can be no id."""
    return _name(file)


@functools.cache
def edition() -> str:
    """What changes whenever one of the files does."""
    return hashlib.sha256(" ".join(assets()).encode()).hexdigest()[:12]


def _name(file: str) -> str:
    stem, _, suffix = file.partition(".")
    return f"{stem}-{_read(file).version:032x}"[: len(stem) + 13] + f".{suffix}"


@functools.cache
def _read(file: str) -> Asset:
    body = (files("formats") / "page" / file).read_bytes()
    digest = hashlib.sha256(body).digest()[:16]
    return Asset(_MEDIA_TYPES[file], body, int.from_bytes(digest))
