"""Read XML of Delicious, Scuttle and Pinboard (`posts`) and the OPML of feed readers."""

from collections.abc import Iterator

from formats.imports.entry import ImportedEntry, entry_with_uri
from formats.imports.folders import Folders, folder_tags
from formats.imports.json import fields_of_members
from formats.xml import Collector, read_elements


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each post or outline with an address, in order. Other outlines are folders.

    Raises Malformed after the entries that precede an error.
    """
    folders = Folders()
    for element in read_elements(data, Collector("outline", ("post",)), ("posts", "opml")):
        folders.close_to(element.level)
        fields = fields_of_members(_members(element.attributes), folders.tags)
        if "uri" in fields or element.kind == "post":
            # The report of a post without an address shows its title.
            yield entry_with_uri(element.line, {"title": fields.get("description", "")} | fields)
        if element.kind == "outline":  # A feed is an empty folder.
            name = "" if "uri" in fields else element.attributes.get("text", "")
            folders.open(folder_tags(name, may_be_built_in=element.level == 0))


def _members(attributes: dict[str, str]) -> dict[str, object]:
    """Return the members of an entry by names of JSON, which all but OPML write in XML, too."""
    page, feed, text = (attributes.get(name) for name in ("htmlUrl", "xmlUrl", "text"))
    # The address of a feed describes its page.
    return {"title": text, "url": feed, "note": feed if page else None, **attributes}
