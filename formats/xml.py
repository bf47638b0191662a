"""Writing and reading XML safely, for the formats that are made of it."""

from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from formats.errors import Malformed

_ATTRIBUTE = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def text(value: str) -> str:
    """The value as the content of an element."""
    return escape(value)


def attribute(value: str) -> str:
    """The value as it stands between the double quotes of an attribute."""
    return escape(value, _ATTRIBUTE)


def parse(body: bytes) -> Element:
    """The document's root. Raises Malformed.

    A declared entity, or an attribute's declared default, is refused: a few bytes could make many.
    """
    parser = XMLParser()
    parser.parser.AttlistDeclHandler = _no_default
    try:
        parser.feed(body)
        root: Element = parser.close()
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except (ParseError, LookupError, ValueError) as error:
        raise Malformed(f"The body is not well-formed XML: {error}.") from None
    return root


def _no_default(element: str, name: str, kind: str, default: str | None, required: bool) -> None:
    if default is not None:
        raise Malformed("XML with an attribute's default value is refused.")
