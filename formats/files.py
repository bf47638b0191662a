"""The files that the command line reads and writes."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")


def read_import(name: str) -> bytes:
    """Return the content of a file, or of standard input for `-`. Raises OSError."""
    with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
        return file.read()


def show_progress(entries: Iterable[_T], name: str) -> Iterator[_T]:
    """Yield the entries, and count them on a terminal."""
    from tqdm import tqdm  # Only an import needs it.

    # `disable=None` shows nothing where the output is no terminal.
    yield from tqdm(entries, desc=Path(name).name[-30:], unit=" entries", disable=None)


def write_export(name: str, chunks: Iterable[bytes]) -> None:
    """Write a file, or standard output for `-`; a file is replaced when all is written.

    Raises OSError.
    """
    is_output, path = name in ("-", "/dev/stdout"), Path(name)
    if not is_output and (path.is_file() or not path.exists()):
        # Replace the target of a symbolic link; Path.resolve raises RuntimeError for a loop.
        _replace(Path(os.path.realpath(path)), chunks)
    else:  # A pipe or a device cannot be replaced.
        with open(1 if is_output else name, "wb", closefd=not is_output) as file:
            file.writelines(chunks)


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            if path.exists():
                shutil.copymode(path, part)
            file.writelines(chunks)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
