"""Write and read XML safely."""

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

    kind: str  # The tag of the element.
    line: int
    depth: int  # 1 for the root element, 2 for its children, and so on.
    level: int  # The number of folders around it.
    attributes: dict[str, str]
    # The texts of elements inside it by their tags, such as `title`.
    texts: dict[str, list[str]] = field(default_factory=dict)


class Collector:
    """Collects the folders and entries of a document. A folder precedes its entries.

    With each, collects the texts of its children with `child_tags`, and of the elements with
    `descendant_tags` at any depth. Leaves out what is inside an entry, and an entry without end.
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
        self._depth = 0  # The number of elements around the current place in the document.
        # The folders and entry around this place, inside an element for the document.
        self._stack = [Element(folder_tag, line=0, depth=0, level=-1, attributes={})]
        self._text: list[str] | None = None  # The pieces of the text to collect, if any.
        self._text_depth = 0  # The depth of the element with this text.

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if not self.root_tag:
            self.root_tag = tag
        if self._text is not None:
            return  # An element inside a text is ignored, but not its text.
        parent = self._stack[-1]
        if self._has_wanted_text(tag):
            self._text = []
            self._text_depth = self._depth
        elif parent.kind == self._folder_tag and tag in self._element_tags:
            line = self.parser.parser.CurrentLineNumber
            element = Element(tag, line, self._depth, parent.level + 1, attributes)
            self._stack.append(element)
            if tag == self._folder_tag:
                self.elements.append(element)

    def _has_wanted_text(self, tag: str) -> bool:
        if tag in self._descendant_tags:
            return True
        is_child = self._depth == self._stack[-1].depth + 1
        return is_child and tag in self._child_tags

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        innermost = self._stack[-1]
        if self._text is not None:
            if self._depth == self._text_depth:
                innermost.texts.setdefault(tag, []).append("".join(self._text))
                self._text = None
        elif self._depth == innermost.depth:
            self._stack.pop()
            if innermost.kind != self._folder_tag:
                self.elements.append(innermost)
        self._depth -= 1


# --- Parsing ---

_MAX_NAMESPACE = 256  # Characters.
_MAX_ATTRIBUTE_DECLARATIONS = 100  # XBEL has fewer than 40.


def parse(document: bytes, collector: Collector) -> None:
    """Collect the elements of a document. Raises Malformed after the elements before an error."""
    codec = find_codec(declared_charset(document))
    try:
        if codec:
            # Expat knows few charsets, so decode here. It ignores the declared one of a str.
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
    """Return a parser that refuses expansion attacks, such as billion laughs."""
    parser = DefusedXMLParser(target=target)  # It refuses declarations of entities.
    expat = parser.parser
    expat.StartNamespaceDeclHandler = _refuse_long_namespace
    expat.AttlistDeclHandler = _AttributeDeclarations().check
    return parser


def _refuse_long_namespace(prefix: str | None, address: str | None) -> None:
    """Refuse an address that expat would repeat in the name of every element."""
    if address and len(address) > _MAX_NAMESPACE:
        raise Malformed(f"XML with a namespace of over {_MAX_NAMESPACE} characters is refused.")


class _AttributeDeclarations:
    """Refuses many attributes and default values, which expat would repeat in every element."""

    def __init__(self) -> None:
        self._count = 0

    def check(
        self, element: str, name: str, kind: str, default: str | None, required: bool
    ) -> None:
        self._count += 1
        if self._count > _MAX_ATTRIBUTE_DECLARATIONS:
            raise Malformed("XML with hundreds of declared attributes is refused.")
        if default is not None:
            raise Malformed("XML with a default value of an attribute is refused.")


# The limits 200 and 40 keep the search short in any document.
_CHARSET = re.compile(
    rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARATION = re.compile(r"\s*(?:<\?xml\s[^>]*>)?")


def declared_charset(document: bytes) -> str:
    """Return the charset in the XML declaration, in lower case, or ""."""
    if declaration := _CHARSET.match(document):
        return declaration[1].decode("ascii").lower()
    return ""


# Some programs write characters that XML excludes, such as U+0001 or `&#1;`. They would stop the
# parser, so it gets this mark instead. Then the mark becomes NUL, which the importer reports.
_MARK = "\U0010ffff"
_REFERENCE = re.compile("&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,6}));")


def read_elements(data: bytes, collector: Collector, roots: Collection[str]) -> Iterator[Element]:
    """Yield the folders and entries of a file.

    Raises Malformed, but yields the elements before an error first.
    """
    text = _without_declaration(decode(data, declared_charset(data)))
    can_use_mark = _MARK not in text
    if can_use_mark:
        text = _mark_invalid_chars(text)
    error: Malformed | None = None
    try:
        parse(text.encode(), collector)
    except Malformed as malformed:
        error = malformed
    if collector.root_tag not in ("", *roots):
        raise Malformed(f"Its root element must be {' or '.join(roots)}.")
    for element in collector.elements:
        if can_use_mark:
            _replace_marks_by_nul(element)
        yield element
    if error:
        raise error


def _without_declaration(text: str) -> str:
    """Return a document without its XML declaration, but with the line breaks, for line numbers.

    The declared charset is wrong after decoding, and a declaration after blank lines is an error.
    """
    return _DECLARATION.sub(lambda declaration: "\n" * declaration[0].count("\n"), text, count=1)


def _mark_invalid_chars(text: str) -> str:
    return _REFERENCE.sub(_mark_invalid_reference, replace_invalid_xml_chars(text, _MARK))


def _mark_invalid_reference(reference: re.Match[str]) -> str:
    hexadecimal, decimal = reference.groups()
    if decimal:
        number = int(decimal)
    else:
        number = int(hexadecimal, 16)
    if _is_valid_xml_char(number):
        return reference[0]
    return _MARK


def _is_valid_xml_char(number: int) -> bool:
    if number > sys.maxunicode:
        return False
    character = chr(number)
    return replace_invalid_xml_chars(character) == character


def _replace_marks_by_nul(element: Element) -> None:
    for name, value in element.attributes.items():
        element.attributes[name] = value.replace(_MARK, "\0")
    for texts in element.texts.values():
        texts[:] = [text.replace(_MARK, "\0") for text in texts]
