"""The page of all tags."""

from collections.abc import Iterator, Sequence

from formats.html.frame import END, begin, e
from formats.html.view import Site, View, with_query
from storage.bookmark import fold


def write_tags(
    tags_and_counts: Sequence[tuple[str, int]], untagged_count: int, view: View
) -> Iterator[bytes]:
    """Write the page of all tags. `untagged_count` is the number of bookmarks without tags."""
    site = view.site
    by_tag = sorted(tags_and_counts, key=lambda tag_and_count: fold(tag_and_count[0]))
    items = "".join(_item(site, tag, count) for tag, count in by_tag)
    number_of_tags = f"{len(by_tag):,} {'tag' if len(by_tag) == 1 else 'tags'}"
    yield (
        f'{begin("Tags", site)}<main id="main">\n<div class="head">\n<h1>Tags</h1>\n'
        f'<p class="total">{number_of_tags}</p>\n</div>\n{_untagged(site, untagged_count)}'
    ).encode()
    tags = f'<ul class="cloud">\n{items}</ul>' if items else "<p>There are no tags yet.</p>"
    yield f"{tags}\n</main>\n{END}".encode()


def _untagged(site: Site, count: int) -> str:
    """Return a link to the search `!untagged`, which finds the bookmarks without tags."""
    if not count:
        return ""
    address = e(with_query(f"{site.path}/", [("q", "!untagged")]))
    return (
        f'<p class="untagged"><a href="{address}">'
        f"Bookmarks without tags <span>{count:,}</span></a></p>\n"
    )


def _item(site: Site, tag: str, count: int) -> str:
    """Return a tag with the number of its bookmarks, and a link to the form that renames it."""
    address, name = e(with_query(f"{site.path}/", [("tag", tag)])), f"<bdi>{e(tag)}</bdi>"
    return (
        f'<li><a href="{address}">{name} <span>{count:,}</span></a> '
        f'<a class="rename" href="{address}#rename">Rename<span class="unseen"> {name}</span></a>'
        "</li>\n"
    )
