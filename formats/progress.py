"""A file that shows how far it is read, to whoever waits at a terminal."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

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
