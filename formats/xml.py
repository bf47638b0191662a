"""Write and read XML."""

import re
import secrets
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
    if _SPECIAL.search(value):
        return escape(value, _ATTRIBUTE_ENTITIES)
    return value


# --- Documents of entries in folders ---

_MAX_NAMESPACE_CHARACTERS = 256
_MAX_ATTRIBUTE_DECLARATIONS = 100  # The DTD of XBEL declares fewer than 40.
_MAX_DEPTH = 500  # Expat and the builder keep each open element in memory.


@dataclass(slots=True)
class Element:
    """A folder or an entry."""

    tag: str
    line: int
    level: int  # The number of folders around the element.
    attributes: dict[str, str]
    # The texts in the element by tag, such as `title`. Each text is a list of parts.
    texts: dict[str, list[str]] = field(default_factory=dict)

    def text_of(self, tag: str) -> str | None:
        """Return the text with this tag, or None without one."""
        parts = self.texts.get(tag)
        if parts is None:
            return None
        return "".join(parts)


_Parts = list[str]  # Expat passes a text in several parts.


class Builder:
    """Builds the folders and entries of a document, with the texts in them.

    Other elements are left out.
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
        # An entry keeps the text of its first child with such a tag.
        self._child_tags = child_tags
        # An entry joins the texts of all descendants with such a tag.
        self._descendant_tags = descendant_tags

        # The folders and the complete entries. A folder comes before its entries.
        self.elements: list[Element] = []
        self.root_tag = ""

        document = Element("", line=0, level=0, attributes={})
        self._open_elements = [document]
        # What each open tag begins: a folder or an entry, a text, or nothing of interest (None).
        self._open_tags: list[Element | _Parts | None] = [None]
        self._level = 0
        self._number_of_declarations = 0

        # The parser calls `start`, `data` and `end`, and refuses entity declarations.
        self.parser = DefusedXMLParser(target=self)
        self._expat = self.parser.parser
        self._expat.StartNamespaceDeclHandler = _refuse_long_namespace
        self._expat.AttlistDeclHandler = self._check_attribute_declaration

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.root_tag:
            self.root_tag = tag
        if len(self._open_tags) > _MAX_DEPTH:
            raise Malformed(f"XML that is nested more than {_MAX_DEPTH} levels deep is refused.")
        parent = self._open_tags[-1]
        if isinstance(parent, list):
            self._open_tags.append(parent)  # The text of <b> belongs to the text around it.
        elif tag in self._element_tags:
            self._open_tags.append(self._start_element(tag, attributes))
        elif tag in self._descendant_tags:
            self._open_tags.append(self._continue_text(tag))
        elif parent is not None and tag in self._child_tags:
            self._open_tags.append(self._start_text(tag))
        else:
            self._open_tags.append(None)

    def _start_element(self, tag: str, attributes: dict[str, str]) -> Element:
        element = Element(tag, self._expat.CurrentLineNumber, self._level, attributes)
        self._open_elements.append(element)
        if tag == self._folder_tag:
            self.elements.append(element)
            self._level += 1
        return element

    def _start_text(self, tag: str) -> _Parts:
        parts: _Parts = []
        self._open_elements[-1].texts.setdefault(tag, parts)  # Keep the first text only.
        return parts

    def _continue_text(self, tag: str) -> _Parts:
        parts = self._open_elements[-1].texts.setdefault(tag, [])
        if parts:
            parts.append(",")
        return parts

    def data(self, text: str) -> None:
        innermost = self._open_tags[-1]
        if isinstance(innermost, list):
            innermost.append(text)

    def end(self, tag: str) -> None:
        if not isinstance(self._open_tags.pop(), Element):
            return
        element = self._open_elements.pop()
        if tag == self._folder_tag:
            self._level -= 1
        else:
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
    """Build the elements of a document. Raises Malformed.

    The elements before an error are built too.
    """
    codec = find_codec(declared_charset(document))
    try:
        if codec:
            # Decode the document here, because Expat knows few charsets. Expat ignores the
            # charset that a str declares.
            builder.parser.feed(document.decode(codec))
        else:
            builder.parser.feed(document)
        builder.parser.close()
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except ParseError as error:
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

# Expat refuses characters that XML excludes, such as U+0001 or `&#1;`. Expat gets a placeholder
# for each, and `read_elements` replaces the placeholders with NUL. The placeholder is a random
# private character, so that hardly any file has it.
_FIRST_PRIVATE = 0x100000
_NUMBER_OF_PRIVATE = 0xFFFE
_REFERENCE = re.compile("&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));")


def read_elements(data: bytes, builder: Builder, roots: Collection[str]) -> Iterator[Element]:
    """Yield the folders and entries of a file. Characters that XML excludes become NUL.

    Raises Malformed: at once if the root element is not in `roots`, otherwise after it has
    yielded the entries before the error.
    """
    text = _without_declaration(decode(data, declared_charset(data)))
    placeholder = chr(_FIRST_PRIVATE + secrets.randbelow(_NUMBER_OF_PRIVATE))
    text_for_expat = _insert_placeholders(text, placeholder)
    error = None
    try:
        parse(text_for_expat.encode(), builder)
    except Malformed as malformed:
        error = malformed
    if builder.root_tag not in ("", *roots):
        raise Malformed(f"Its root element must be {' or '.join(roots)}.")
    for element in builder.elements:
        if text_for_expat != text:
            _remove_placeholders(element, placeholder)
        yield element
    if error:
        raise error


def _without_declaration(text: str) -> str:
    """Remove the XML declaration, because Expat gets UTF-8. Keep line breaks for line numbers."""
    return _DECLARATION.sub(lambda declaration: "\n" * declaration[0].count("\n"), text, count=1)


def _insert_placeholders(text: str, placeholder: str) -> str:
    def replace_excluded(reference: re.Match[str]) -> str:
        if _names_excluded_character(reference):
            return placeholder
        return reference[0]

    text = replace_invalid_xml_chars(text, placeholder)
    return _REFERENCE.sub(replace_excluded, text)


def _names_excluded_character(reference: re.Match[str]) -> bool:
    hexadecimal, decimal = reference.groups()
    if decimal:
        number = int(decimal)
    else:
        number = int(hexadecimal, 16)
    if number > sys.maxunicode:
        return True
    return replace_invalid_xml_chars(chr(number)) != chr(number)


def _remove_placeholders(element: Element, placeholder: str) -> None:
    for name, value in element.attributes.items():
        element.attributes[name] = value.replace(placeholder, "\0")
    for tag, parts in element.texts.items():
        text = "".join(parts)
        element.texts[tag] = [text.replace(placeholder, "\0")]
