"""The page of all tags."""

from collections.abc import Iterator, Sequence

from formats.base_url import BaseUrl, with_query
from formats.html.frame import END, begin, e
from storage.bookmark import fold


def write_tags(
    tags_and_counts: Sequence[tuple[str, int]], untagged_count: int, base: BaseUrl
) -> Iterator[bytes]:
    """Write the page of all tags. `untagged_count` is the number of bookmarks without tags."""
    by_tag = sorted(tags_and_counts, key=lambda tag_and_count: fold(tag_and_count[0]))
    items = "".join(_item(base, tag, count) for tag, count in by_tag)
    number_of_tags = f"{len(by_tag):,} {'tag' if len(by_tag) == 1 else 'tags'}"
    yield (
        f'{begin("Tags", base)}<main id="main">\n<div class="head">\n<h1>Tags</h1>\n'
        f'<p class="total">{number_of_tags}</p>\n</div>\n{_untagged(base, untagged_count)}'
    ).encode()
    tags = f'<ul class="cloud">\n{items}</ul>' if items else "<p>There are no tags yet.</p>"
    yield f"{tags}\n</main>\n{END}".encode()


def _untagged(base: BaseUrl, count: int) -> str:
    """Return a link to the search `!untagged`, which finds the bookmarks without tags."""
    if not count:
        return ""
    address = e(with_query(f"{base.path}/", [("q", "!untagged")]))
    return (
        f'<p class="untagged"><a href="{address}">'
        f"Bookmarks without tags <span>{count:,}</span></a></p>\n"
    )


def _item(base: BaseUrl, tag: str, count: int) -> str:
    """Return a tag with the number of its bookmarks, and a link to the form that renames it."""
    address, name = e(with_query(f"{base.path}/", [("tag", tag)])), f"<bdi>{e(tag)}</bdi>"
    return (
        f'<li><a href="{address}">{name} <span>{count:,}</span></a> '
        f'<a class="rename" href="{address}#rename">Rename<span class="unseen"> {name}</span></a>'
        "</li>\n"
    )
