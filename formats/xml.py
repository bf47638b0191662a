"""Write and read XML."""

import re
import sys
from collections.abc import Collection, Iterator
from typing import cast
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from formats.charset import decode, find_codec
from storage.bookmark import replace_invalid_xml_chars
from storage.errors import Malformed

_ATTRIBUTE_ENTITIES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')


def escape_attribute(value: str) -> str:
    if _SPECIAL.search(value):
        return escape(value, _ATTRIBUTE_ENTITIES)
    return value


# --- Documents of entries in folders ---

_MAX_NAMESPACE_CHARACTERS = 256
_MAX_ATTRIBUTE_DECLARATIONS = 100  # The DTD of XBEL declares fewer than 40.


class Element(ElementTree.Element):
    __slots__ = ("line", "level")
    line: int
    level: int  # The number of folders around the element.

    def text_of(self, tag: str) -> str | None:
        """Return the text in the first child with this tag, if there is one."""
        child = self.find(tag)
        if child is None:
            return None
        return child.text or ""

    def texts_at(self, path: str) -> list[str]:
        return [element.text or "" for element in self.iterfind(path)]


class Builder:
    """Keeps the folders and entries of a document, and the elements with `inner_tags` inside them.

    Other elements are left out, but not what is inside them: `<title>A <b>B</b></title>` has the
    text `A B`.
    """

    def __init__(
        self, folder_tag: str, entry_tags: Collection[str], inner_tags: Collection[str] = ()
    ) -> None:
        self._folder_tag = folder_tag
        self._entry_tags = entry_tags
        self._tags = {folder_tag, *entry_tags, *inner_tags}
        self._level = 0
        self._number_of_declarations = 0
        self.root_tag = ""
        # The folders and the complete entries. A folder comes before its entries.
        self.elements: list[Element] = []
        self._tree_builder = ElementTree.TreeBuilder(element_factory=Element)
        self.tree = self._tree_builder.start("tree", {})
        # The parser calls `start`, `data` and `end`, and refuses entity declarations.
        self.data = self._tree_builder.data
        self.parser = DefusedXMLParser(target=self)
        self._expat = self.parser.parser
        self._expat.StartNamespaceDeclHandler = _refuse_long_namespace
        self._expat.AttlistDeclHandler = self._check_attribute_declaration

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.root_tag:
            self.root_tag = tag
        if tag not in self._tags:
            return
        element = cast(Element, self._tree_builder.start(tag, attributes))
        element.line = self._expat.CurrentLineNumber
        element.level = self._level
        if tag == self._folder_tag:
            self.elements.append(element)
            self._level += 1

    def end(self, tag: str) -> None:
        if tag not in self._tags:
            return
        element = cast(Element, self._tree_builder.end(tag))
        if tag == self._folder_tag:
            self._level -= 1
        elif tag in self._entry_tags:
            self.elements.append(element)

    def _check_attribute_declaration(
        self, element: str, name: str, kind: str, default: str | None, required: bool
    ) -> None:
        self._number_of_declarations += 1
        if self._number_of_declarations > _MAX_ATTRIBUTE_DECLARATIONS:
            raise Malformed("XML with hundreds of declared attributes is refused.")
        if default is not None:  # Expat copies the value into each element.
            raise Malformed("XML with a default value of an attribute is refused.")


def _refuse_long_namespace(prefix: str | None, address: str | None) -> None:
    # Expat copies the address into the name of each element, which could fill the memory.
    if address and len(address) > _MAX_NAMESPACE_CHARACTERS:
        limit = _MAX_NAMESPACE_CHARACTERS
        raise Malformed(f"XML with a namespace of over {limit} characters is refused.")


def parse(document: bytes, builder: Builder) -> None:
    """Build the elements of a document. Raises Malformed after the elements above an error."""
    codec = find_codec(declared_charset(document))
    try:
        if codec:
            # Expat knows few charsets. In a str, it ignores the declaration.
            builder.parser.feed(document.decode(codec))
        else:
            builder.parser.feed(document)
        builder.parser.close()
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except ElementTree.ParseError as error:
        malformed = Malformed(f"The XML is malformed: {error}.")
        malformed.line, _ = error.position
        raise malformed from error
    except (LookupError, ValueError):
        raise Malformed("The XML has an encoding that cannot be read. Send UTF-8.") from None


# Limits such as {0,200} keep the search short.
_CHARSET = re.compile(
    rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARATION = re.compile(r"\s*(?:<\?xml\s[^>]*>)?")


def declared_charset(document: bytes) -> str:
    """Return the lower-case charset of the XML declaration, or ""."""
    if declaration := _CHARSET.match(document):
        return declaration[1].decode("ascii").lower()
    return ""


# --- Files with characters that XML excludes ---

# Expat refuses characters that XML excludes, such as U+0001 or `&#1;`. _EXCLUDED replaces them
# while the text is parsed, and NUL afterwards.
_EXCLUDED = "\U0010ffff"
_ESCAPE = "\U0010fffe"
# A file may have these two characters. _ESCAPE is escaped first, because an escaped _EXCLUDED
# contains _ESCAPE.
_ESCAPED_BY_CHARACTER = {_ESCAPE: f"{_ESCAPE}0", _EXCLUDED: f"{_ESCAPE}1"}
_REFERENCE = re.compile("&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));")


def read_elements(data: bytes, builder: Builder, roots: Collection[str]) -> Iterator[Element]:
    """Yield the folders and entries of a file. Raises Malformed after those above an error.

    Characters that XML excludes become NUL.
    """
    text = _without_declaration(decode(data, declared_charset(data)))
    marked = _mark_excluded_characters(text)
    error = None
    try:
        parse(marked.encode(), builder)
    except Malformed as malformed:
        error = malformed
    if builder.root_tag not in ("", *roots):
        raise Malformed(f"Its root element must be {' or '.join(roots)}.")
    if marked != text:
        _replace_marks(builder.tree)
    yield from builder.elements
    if error:
        raise error


def _without_declaration(text: str) -> str:
    """Remove the declaration, which names the charset of the bytes, but keep its line breaks."""
    return _DECLARATION.sub(lambda declaration: "\n" * declaration[0].count("\n"), text, count=1)


def _mark_excluded_characters(text: str) -> str:
    for character, escaped in _ESCAPED_BY_CHARACTER.items():
        text = text.replace(character, escaped)
    text = replace_invalid_xml_chars(text, _EXCLUDED)
    return _REFERENCE.sub(_mark_excluded_reference, text)


def _mark_excluded_reference(reference: re.Match[str]) -> str:
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


def _replace_marks(tree: ElementTree.Element) -> None:
    for element in tree.iter():
        for name, value in element.items():
            element.set(name, _without_marks(value))
        element.text = _without_marks(element.text or "")


def _without_marks(text: str) -> str:
    text = text.replace(_EXCLUDED, "\0")
    for character, escaped in reversed(_ESCAPED_BY_CHARACTER.items()):
        text = text.replace(escaped, character)
    return text
