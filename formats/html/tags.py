"""The page of all tags."""

from collections.abc import Iterator, Sequence

from formats.base_url import BaseUrl, with_query
from formats.html.frame import END, begin, e
from storage.bookmark import fold


def write_tags(
    counts: Sequence[tuple[str, int]], untagged: int, base: BaseUrl
) -> Iterator[bytes]:
    """Write the page of all tags in alphabetical order, each a link to its bookmarks."""
    items = "".join(
        _item(base, ("tag", tag), tag, count)
        for tag, count in sorted(counts, key=lambda pair: fold(pair[0]))
    )
    if untagged:
        items += _item(base, ("q", "!untagged"), "Bookmarks without tags", untagged)
    main = f'<ul class="cloud">\n{items}</ul>' if items else "<p>There are no tags yet.</p>"
    yield (
        f'{begin("Tags", base)}<main id="main" class="single">\n<h1>Tags</h1>\n{main}\n'
        f"</main>\n{END}"
    ).encode()


def _item(base: BaseUrl, parameter: tuple[str, str], text: str, count: int) -> str:
    address = e(with_query(f"{base.path}/", [parameter]))
    return f'<li><a href="{address}"><bdi>{e(text)}</bdi> <span>{count:,}</span></a></li>\n'
