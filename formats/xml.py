"""Write and read XML safely."""

import re
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from formats.imports.charset import find_codec
from storage.errors import Malformed

_ATTRIBUTE_ENTITIES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')
# The charset in an XML declaration. The limits 200 and 40 keep the search short in any document.
_CHARSET = re.compile(
    rb"\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE
)


def escape_attribute(value: str) -> str:
    """Return the value escaped for a double-quoted attribute."""
    # Most values need no escaping, and one search is faster than the replacements.
    return escape(value, _ATTRIBUTE_ENTITIES) if _SPECIAL.search(value) else value


def parse(document: bytes, target: Any) -> None:
    """Parse a document. Raises Malformed, after passing the parts before the error to `target`.

    `target` has the methods that `xml.etree.ElementTree.XMLParser` calls. Its attribute `line` is
    set to a function that returns the number of the parser's line.

    Entity declarations and default values of attributes are refused: a few bytes of them can make
    a document of any size. A charset of the Encoding Standard is decoded here, because expat knows
    few of them.
    """
    charset = declared_charset(document)
    # The Encoding Standard reads ASCII as windows-1252, so leave ASCII to expat, which refuses
    # other bytes.
    is_ascii = charset.startswith(("ascii", "us-ascii"))
    codec = find_codec(charset) if charset and not is_ascii else None
    parser = DefusedXMLParser(target=target)  # Refuses declarations of entities.
    expat = parser.parser
    expat.AttlistDeclHandler = _refuse_default_value
    target.line = lambda: int(expat.CurrentLineNumber)  # For the line numbers of entries.
    try:
        # For a string, expat ignores the charset that the document declares.
        parser.feed(document.decode(codec) if codec else document)
        parser.close()
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except ParseError as error:
        raise Malformed(f"The XML is malformed: {error}.") from None
    except (LookupError, ValueError):  # The charset is unknown, or lacks some bytes.
        raise Malformed("The XML has an encoding that cannot be read. Send UTF-8.") from None


def declared_charset(document: bytes) -> str:
    """Return the charset that the XML declaration names, in lower case; empty without one."""
    declaration = _CHARSET.match(document)
    return declaration[1].decode("ascii").lower() if declaration else ""


def _refuse_default_value(
    element: str, name: str, kind: str, default: str | None, required: bool
) -> None:
    """Refuse a default value, which every element would repeat; expat calls this per attribute."""
    if default is not None:
        raise Malformed("XML with a default value of an attribute is refused.")
