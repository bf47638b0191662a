"""Write and read XML."""

import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from formats.charset import decode, find_codec
from storage.bookmark import replace_invalid_xml_chars
from storage.errors import Malformed

_ATTRIBUTE_ENTITIES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')


def escape_attribute(value: str) -> str:
    """Return the value escaped for a double-quoted attribute."""
    if _SPECIAL.search(value):
        return escape(value, _ATTRIBUTE_ENTITIES)
    return value


# --- Documents of entries in folders ---


@dataclass(slots=True)
class Element:
    """A folder or an entry."""

    kind: str  # Its tag.
    line: int
    depth: int  # The root element has depth 1.
    level: int  # The number of folders around it.
    attributes: dict[str, str]
    # Texts of inner elements by tag, such as `title`.
    texts: dict[str, list[str]] = field(default_factory=dict)


class Collector:
    """Collects folders and entries, each folder before its entries.

    Each has the texts of its children with `child_tags`, and of its descendants at any depth
    with `descendant_tags`. Other elements inside an entry are ignored.
    """

    def __init__(
        self,
        folder_tag: str,
        entry_tags: Collection[str],
        child_tags: Collection[str] = (),
        descendant_tags: Collection[str] = (),
    ) -> None:
        self._folder_tag = folder_tag
        self._element_tags = {folder_tag, *entry_tags}
        self._child_tags = child_tags
        self._descendant_tags = descendant_tags
        self.root_tag = ""
        self.elements: list[Element] = []
        self.parser = _new_parser(self)  # It calls `start`, `data` and `end`.
        self._expat = self.parser.parser
        self._depth = 0  # The number of open XML elements.
        # The document (as a folder), the open folders, and the open entry if there is one.
        self._stack = [Element(folder_tag, line=0, depth=0, level=0, attributes={})]
        self._text_depth = 0  # The depth of the open XML element whose text is wanted, or 0.
        self._text: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if not self.root_tag:
            self.root_tag = tag
        if self._text_depth:
            return  # Inside a wanted text, elements are ignored, but their texts are kept.
        innermost = self._stack[-1]
        if self._has_wanted_text(tag, innermost):
            self._text_depth = self._depth
        elif tag in self._element_tags and innermost.kind == self._folder_tag:
            self._start_element(tag, attributes)

    def _has_wanted_text(self, tag: str, innermost: Element) -> bool:
        if tag in self._descendant_tags:
            return True
        is_child = self._depth == innermost.depth + 1
        return is_child and tag in self._child_tags

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._expat.CurrentLineNumber
        number_of_folders = len(self._stack) - 1
        element = Element(tag, line, self._depth, number_of_folders, attributes)
        self._stack.append(element)
        if tag == self._folder_tag:
            self.elements.append(element)

    def data(self, text: str) -> None:
        if self._text_depth:
            self._text.append(text)

    def end(self, tag: str) -> None:
        innermost = self._stack[-1]
        if self._depth == self._text_depth:
            self._end_text(tag, innermost)
        elif self._depth == innermost.depth:
            self._end_innermost()
        self._depth -= 1

    def _end_text(self, tag: str, innermost: Element) -> None:
        text = "".join(self._text)
        innermost.texts.setdefault(tag, []).append(text)
        self._text = []
        self._text_depth = 0

    def _end_innermost(self) -> None:
        element = self._stack.pop()
        if element.kind != self._folder_tag:
            self.elements.append(element)


# --- Parsing ---

_MAX_NAMESPACE_CHARACTERS = 256
_MAX_ATTRIBUTE_DECLARATIONS = 100  # XBEL has fewer than 40.


def parse(document: bytes, collector: Collector) -> None:
    """Collect the elements of a document, up to an error. Raises Malformed."""
    codec = find_codec(declared_charset(document))
    try:
        if codec:
            # Expat knows few charsets, and ignores the declared one for a str.
            collector.parser.feed(document.decode(codec))
        else:
            collector.parser.feed(document)
        collector.parser.close()
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except ParseError as error:
        malformed = Malformed(f"The XML is malformed: {error}.")
        malformed.line, _ = error.position
        raise malformed from error
    except (LookupError, ValueError):
        raise Malformed("The XML has an encoding that cannot be read. Send UTF-8.") from None


def _new_parser(target: Collector) -> DefusedXMLParser:
    parser = DefusedXMLParser(target=target)  # Refuses entity declarations.
    expat = parser.parser
    expat.StartNamespaceDeclHandler = _refuse_long_namespace
    expat.AttlistDeclHandler = _AttributeDeclarations().check
    return parser


def _refuse_long_namespace(prefix: str | None, address: str | None) -> None:
    # Expat repeats the address in the name of each element.
    if address and len(address) > _MAX_NAMESPACE_CHARACTERS:
        limit = _MAX_NAMESPACE_CHARACTERS
        raise Malformed(f"XML with a namespace of over {limit} characters is refused.")


class _AttributeDeclarations:
    """Limits the attribute declarations of a document."""

    def __init__(self) -> None:
        self._count = 0

    def check(
        self, element: str, name: str, kind: str, default: str | None, required: bool
    ) -> None:
        self._count += 1
        if self._count > _MAX_ATTRIBUTE_DECLARATIONS:
            raise Malformed("XML with hundreds of declared attributes is refused.")
        if default is not None:  # Expat repeats the value in each element.
            raise Malformed("XML with a default value of an attribute is refused.")


# The bounds keep the search short.
_CHARSET = re.compile(
    rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARATION = re.compile(r"\s*(?:<\?xml\s[^>]*>)?")


def declared_charset(document: bytes) -> str:
    """Return the lower-case charset of the XML declaration, or ""."""
    if declaration := _CHARSET.match(document):
        return declaration[1].decode("ascii").lower()
    return ""


# expat refuses characters that XML excludes, such as U+0001 or `&#1;`. So the mark _EXCLUDED
# replaces them before the text is parsed, and NUL replaces the mark afterwards.
_EXCLUDED = "\U0010ffff"
_ESCAPE = "\U0010fffe"
# For files that have these characters themselves. _ESCAPE is first, because both values have it.
_ESCAPED_BY_CHARACTER = {_ESCAPE: f"{_ESCAPE}0", _EXCLUDED: f"{_ESCAPE}1"}
_REFERENCE = re.compile("&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));")


def read_elements(data: bytes, collector: Collector, roots: Collection[str]) -> Iterator[Element]:
    """Yield the folders and entries of a file. Raises Malformed after those before an error.

    Characters that XML excludes become NUL.
    """
    text = _without_declaration(decode(data, declared_charset(data)))
    error = _parse_text(_mark_invalid_chars(text), collector)
    if collector.root_tag not in ("", *roots):
        raise Malformed(f"Its root element must be {' or '.join(roots)}.")
    for element in collector.elements:
        _replace_marks(element)
        yield element
    if error:
        raise error


def _parse_text(text: str, collector: Collector) -> Malformed | None:
    """Return the error, so that the caller can yield the elements before it."""
    try:
        parse(text.encode(), collector)
    except Malformed as error:
        return error
    return None


def _without_declaration(text: str) -> str:
    """Remove the declaration, because the text is decoded already. Keep the line numbers."""
    return _DECLARATION.sub(lambda declaration: "\n" * declaration[0].count("\n"), text, count=1)


def _mark_invalid_chars(text: str) -> str:
    for character, escaped in _ESCAPED_BY_CHARACTER.items():
        text = text.replace(character, escaped)
    text = replace_invalid_xml_chars(text, _EXCLUDED)
    return _REFERENCE.sub(_mark_invalid_reference, text)


def _mark_invalid_reference(reference: re.Match[str]) -> str:
    hexadecimal, decimal = reference.groups()
    if decimal:
        number = int(decimal)
    else:
        number = int(hexadecimal, 16)
    if number > sys.maxunicode:
        return _EXCLUDED
    character = chr(number)
    if character in _ESCAPED_BY_CHARACTER:
        return _ESCAPED_BY_CHARACTER[character]
    if replace_invalid_xml_chars(character) == character:
        return reference[0]
    return _EXCLUDED


def _replace_marks(element: Element) -> None:
    for name, value in element.attributes.items():
        element.attributes[name] = _without_marks(value)
    for tag, texts in element.texts.items():
        element.texts[tag] = [_without_marks(text) for text in texts]


def _without_marks(text: str) -> str:
    text = text.replace(_EXCLUDED, "\0")
    for character, escaped in reversed(_ESCAPED_BY_CHARACTER.items()):
        text = text.replace(escaped, character)
    return text
