"""Where and how bookmarks are shown: what a representation tells besides the bookmarks."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from storage.bookmark import Bookmark, Tombstone

Parameters = Sequence[tuple[str, str]]


class Draft(msgspec.Struct, frozen=True):
    """A form as a person sent it: what each field said, and what the server holds of it by now.

    `action` is the path to send it to once more, `version` the one that it edited or, where
    somebody else was faster, that of `current`, the bookmark which was stored meanwhile.
    """

    action: str
    fields: Mapping[str, str]
    version: str = ""
    current: Bookmark | None = None
    is_deletion: bool = False


class View(msgspec.Struct, frozen=True):
    """`base` is the service's address without the slash at its end, `path` the part of it that
    begins every link that stays on this host, `document` the list's address without its query,
    `parameters` that query.

    `tags` and `words` are the filter as it was asked for, `links` maps first, prev, next and last
    to the addresses of other pages, `total` counts the bookmarks of all of them, `updated` is the
    time of the collection's latest change, `tombstones` are the deletions to tell of, `version`
    is the shown bookmark's, `field` the one of its fields that is shown.

    Only a page for people tells of `offset`, how many bookmarks stand before the first one shown,
    `versions`, the shown ones' versions, `counts`, the tags that all of them have most often,
    `exports`, the names of the formats of lists, and `draft`, a form that could not be saved.
    """

    base: str
    path: str = ""
    document: str = ""
    parameters: Parameters = ()
    tags: tuple[str, ...] = ()
    words: str = ""
    links: Mapping[str, str] = {}
    total: int = 0
    updated: str = ""
    tombstones: Sequence[Tombstone] = ()
    version: int = 0
    field: str = ""
    offset: int = 0
    versions: Sequence[int] = ()
    counts: Sequence[tuple[str, int]] = ()
    exports: Sequence[str] = ()
    draft: Draft | None = None

    @property
    def address(self) -> str:
        """The list's own address."""
        return address(self.document, self.parameters)

    @property
    def filter(self) -> list[tuple[str, str]]:
        """The parameters of the filter."""
        words = [("q", self.words)] if self.words else []
        return [*(("tag", tag) for tag in self.tags), *words]

    def bookmark(self, id: str) -> str:
        """The address of one bookmark."""
        return f"{self.base}/{id}"


def listed(
    here: View, path: str, parameters: Parameters, limit: int | None, offset: int, total: int
) -> View:
    """The view of a page of the list at this path: its address, its filter, its neighbours."""
    document = here.base + path
    return replace(
        here,
        document=document,
        parameters=parameters,
        tags=tuple(value for name, value in parameters if name == "tag" and value.strip()),
        words=" ".join(value for name, value in parameters if name == "q"),
        links=page_links(document, parameters, limit, offset, total),
    )


def address(document: str, parameters: Parameters) -> str:
    """The document's address with these parameters as its query."""
    return f"{document}?{urlencode(parameters)}" if parameters else document


def page_links(
    document: str, parameters: Parameters, limit: int | None, offset: int, total: int
) -> dict[str, str]:
    """The addresses of the first, previous, next and last page (RFC 8288); none if not paged."""
    if not limit:
        return {}
    last = max(total - 1, 0) // limit * limit
    offsets = {"first": 0}
    if offset > 0:
        offsets["prev"] = max(min(offset, last + limit) - limit, 0)
    if offset + limit < total:
        offsets["next"] = offset + limit
    offsets["last"] = last
    others = [pair for pair in parameters if pair[0] not in ("limit", "offset")]
    page = f"{address(document, others)}{'&' if others else '?'}limit={limit}"
    return {relation: f"{page}&offset={start}" for relation, start in offsets.items()}
