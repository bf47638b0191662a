"""Writing and reading XML safely, for the formats that are made of it."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from formats.errors import Malformed
from formats.item import MAX_ENTRY

_ATTRIBUTE = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')  # Most values have none, and looking once is cheap.


class Target(Protocol):
    """What is told of a document; `seen` grows with everything, `line` is where it stands."""

    seen: int
    line: Callable[[], int]

    def start(self, tag: str, attributes: dict[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def data(self, text: str) -> None: ...
    def close(self) -> None: ...


def text(value: str) -> str:
    """The value as the content of an element."""
    return escape(value)


def attribute(value: str) -> str:
    """The value as it stands between the double quotes of an attribute."""
    return escape(value, _ATTRIBUTE) if _SPECIAL.search(value) else value


def parse(blocks: Iterable[bytes], target: Target) -> Iterator[None]:
    """Tells the target of the document, block by block. Raises Malformed.

    A declared entity, or an attribute's declared default, is refused: a few bytes could make many.
    """
    parser = XMLParser(target=target)
    expat = parser.parser
    expat.AttlistDeclHandler = _no_default
    target.line = lambda: int(expat.CurrentLineNumber)
    quiet = 0
    for block in blocks:
        before = target.seen
        _feed(parser, block)
        # A tag or comment without end is kept, and begun anew with each block.
        quiet = quiet + len(block) if target.seen == before else 0
        if quiet > MAX_ENTRY:
            raise Malformed(f"The XML has something too large in line {expat.CurrentLineNumber}.")
        yield
    _feed(parser, None)
    yield


def _feed(parser: XMLParser, block: bytes | None) -> None:
    """Gives the parser a block, or the end."""
    try:
        if block is None:
            parser.close()
        else:
            parser.feed(block)
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except (ParseError, LookupError, ValueError) as error:
        raise Malformed(f"The body is not well-formed XML: {error}.") from None


def _no_default(element: str, name: str, kind: str, default: str | None, required: bool) -> None:
    if default is not None:
        raise Malformed("XML with an attribute's default value is refused.")
