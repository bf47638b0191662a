"""Read the XML of Delicious and Pinboard (`posts`) and the OPML of feed readers."""

from collections.abc import Iterator

from formats.imports.entry import ImportedEntry, entry_with_uri
from formats.imports.folders import Folders, folder_tags
from formats.imports.members import Members, fields_of_members
from formats.imports.roles import note_wrong_date
from formats.xml import Builder, read_elements


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each post or outline with an address.

    Yields the entries above an error, then raises Malformed.
    """
    builder = Builder("outline", ("post",))
    folders = Folders()
    for element in read_elements(data, builder, ("posts", "opml")):
        folders.close_to(element.level)
        members = _members(element.attributes)
        fields = fields_of_members(members, folders.tags)
        note_wrong_date(members.items(), fields)
        if element.tag == "post":
            if "uri" not in fields:  # The report names such a post by its description.
                fields.setdefault("title", fields.get("description", ""))
            yield entry_with_uri(element.line, fields)
        elif "uri" in fields:
            yield entry_with_uri(element.line, fields)
            # This outline is a bookmark, so the outlines inside it get no tag.
            folders.open(tags=())
        else:
            name = element.attributes.get("text", "")
            folders.open(folder_tags(name, is_top_level=element.level == 0))


def _members(attributes: dict[str, str]) -> Members:
    translated: Members = {"title": attributes.get("text")}
    feed = attributes.get("xmlUrl")
    if feed and "htmlUrl" in attributes:  # The uri is `htmlUrl`, the address of the site.
        translated["note"] = feed
    elif feed:
        translated["url"] = feed
    return translated | attributes
