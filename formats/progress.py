"""The files of the command line: one shows how far it is read, one is written whole or not."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from formats.item import Stream


@contextmanager
def opened(name: str) -> Iterator[Stream]:
    """A file, or the standard input for `-`, with a bar on a terminal. Raises OSError."""
    from tqdm import tqdm  # Only an import shows a bar.

    with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
        size = os.fstat(file.fileno()).st_size or None
        # None disables the bar where nobody sees it.
        shown = os.path.basename(name)[-30:]  # A whole path may take all of the line.
        with tqdm.wrapattr(file, "read", total=size, desc=shown, disable=None) as stream:
            yield stream


def save(name: str, chunks: Iterable[bytes]) -> None:
    """Writes a file, or to the standard output for `-`. What was there stays until all is written.

    Raises OSError.
    """
    is_output, path = name in ("-", "/dev/stdout"), Path(name)
    if not is_output and (path.is_file() or not path.exists()):
        _replace(path.resolve(), chunks)  # Replace the target of a symbolic link.
    else:  # A pipe or a device cannot be replaced.
        with open(1 if is_output else name, "wb", closefd=not is_output) as file:
            file.writelines(chunks)


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    file = open(part, "xb")
    try:
        with file:
            if path.exists():
                shutil.copymode(path, part)
            file.writelines(chunks)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
