"""Parse XBEL documents: this service's own, and those of other programs."""

from collections.abc import Callable
from dataclasses import dataclass, field

from formats.imports.folders import Folders, folder_tags
from storage.bookmark import split_tags

IGNORED_ELEMENTS = ("alias", "separator")
# From XBEL's attributes and child elements of a bookmark to the fields of this service.
ATTRIBUTES = {"href": "uri", "added": "created", "modified": "modified"}
_FIELD_BY_CHILD = {"title": "title", "desc": "description"}

# Elements deep in the `metadata` of a bookmark. GNOME writes the bookmark's groups, and whether it
# is private: https://www.freedesktop.org/wiki/Specifications/desktop-bookmark-spec.
_DESKTOP = "{http://www.freedesktop.org/standards/desktop-bookmarks}"
GROUP, PRIVATE = f"{_DESKTOP}group", f"{_DESKTOP}private"
KDE_TIME = "time_added"  # KDE writes when the bookmark was added.
_GNOME_AND_KDE_METADATA = (GROUP, PRIVATE, KDE_TIME)


@dataclass(slots=True)
class XbelEntry:
    """A bookmark, alias or separator element.

    `kind` is the name of the element. `texts` maps the names of elements inside it to their texts.
    """

    kind: str
    line: int
    depth: int  # The number of open elements at the start tag, this one included.
    attributes: dict[str, str]
    tags_of_folders: tuple[str, ...]
    texts: dict[str, list[str]] = field(default_factory=dict)


class XbelDocument:
    """The target of an XML parser that collects the entries of an XBEL document.

    The parser passes the text of an element, such as a title, in pieces. `_text_pieces` collects
    the pieces up to the end of this element, also those of elements inside it.
    """

    def __init__(self) -> None:
        self.root = ""
        self.line: Callable[[], int] = lambda: 0  # `xml.parse` sets it to get the parser's line.
        self.entries: list[XbelEntry] = []
        self._open_elements: list[str] = []
        self._folders = Folders()
        self._is_toolbar_folder = False  # About the folder opened last: a toolbar gives no tag.
        self._open_entry: XbelEntry | None = None
        self._text_pieces: list[str] | None = None  # None while no text is wanted.
        self._text_element, self._text_depth = "", 0  # The element that is read, and its depth.

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        parent = self._open_elements[-1] if self._open_elements else ""
        self._open_elements.append(tag)
        depth = len(self._open_elements)
        self.root = self.root or tag
        if self._open_entry:
            is_child = depth == self._open_entry.depth + 1 and tag in _FIELD_BY_CHILD
            if tag in _GNOME_AND_KDE_METADATA or is_child:  # Metadata may be at any depth.
                self._collect_text(tag)
        elif tag == "folder":
            self._folders.open(tags=())  # Its title, which follows, becomes its tags.
            self._is_toolbar_folder = attributes.get("toolbar") == "yes"  # Its title is no tag.
        elif tag == "title" and parent == "folder":
            self._collect_text(tag)
        elif tag == "bookmark" or tag in IGNORED_ELEMENTS:  # The report counts ignored ones, too.
            tags = self._folders.tags
            self._open_entry = XbelEntry(tag, self.line(), depth, attributes, tags)

    def _collect_text(self, tag: str) -> None:
        if self._text_pieces is None:  # Otherwise the element only adds to the text around it.
            self._text_pieces = []
            self._text_element, self._text_depth = tag, len(self._open_elements)

    def data(self, text: str) -> None:
        """Handle a part of a text."""
        if self._text_pieces is not None:
            self._text_pieces.append(text)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        depth = len(self._open_elements)
        if self._text_pieces is not None and depth == self._text_depth:
            self._set_text("".join(self._text_pieces))
            self._text_pieces = None
        if self._open_entry and depth == self._open_entry.depth:
            self.entries.append(self._open_entry)
            self._open_entry = None
        elif tag == "folder" and not self._open_entry:  # `start` opens no folder inside an entry.
            self._folders.close()
        self._open_elements.pop()

    def _set_text(self, text: str) -> None:
        """Store a text of the open entry; without an open entry, it is the title of a folder."""
        if self._open_entry:
            self._open_entry.texts.setdefault(self._text_element, []).append(text)
        elif not self._is_toolbar_folder:  # Browsers name their toolbars, so that name is no tag.
            # A browser's own folders, such as Other Bookmarks, give no tag. They are only at the
            # top, where the only open folder is the folder itself.
            is_at_top = self._folders.depth == 1
            self._folders.set_own_tags(folder_tags(text, may_be_built_in=is_at_top))


def element_fields(entry: XbelEntry) -> dict[str, object]:
    """Return the fields that attributes and child elements of a bookmark have, not its folders."""
    fields: dict[str, object] = {}
    if id := entry.attributes.get("id"):
        fields["id"] = id.removeprefix("b-")  # Exports add `b-`: no XML id begins with a digit.
    for attribute, name in ATTRIBUTES.items():
        if (value := entry.attributes.get(attribute)) is not None:
            fields[name] = value
    for child, name in _FIELD_BY_CHILD.items():
        if texts := entry.texts.get(child):
            fields[name] = texts[0]  # XBEL allows only one.
    if (tags := entry.attributes.get("tags")) is not None:
        fields["tags"] = split_tags(tags)
    return fields
