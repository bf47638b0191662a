"""Rates of reading, compared with a server whose response is constant."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, cycle
from random import Random
from statistics import median

import collection
from bench import Bench
from load import CLIENTS, Sample, ask_twice, conditional, first, get, gone_ids
from table import Goal, Measured, Row

_MOST = 5000  # The responses of so many different requests fit into the cache.
_COMMON = collection.TAGS[:20]
_PAIRS = list(combinations(collection.TAGS[:4], 2))


def one(bench: Bench) -> list[str]:
    return [f"/{id}" for id in bench.ids[:_MOST]]


def tagged(bench: Bench) -> list[str]:
    return [f"/?tag={tag}&limit=20" for tag in _COMMON]


def twice_tagged(bench: Bench) -> list[str]:
    return [f"/?tag={tag}&tag={other}&limit=20" for tag, other in _PAIRS]


def halfway(bench: Bench) -> list[str]:
    return [f"/?limit=20&offset={len(bench.ids) // 2 + page}" for page in range(20)]


def page(bench: Bench) -> list[str]:
    return [f"/?tag={tag}&limit=50&format=html" for tag in _COMMON]


def every_one(bench: Bench) -> Iterator[str]:
    return (f"/{id}" for id in cycle(bench.ids))


def every_list(bench: Bench) -> Iterator[str]:
    """Yield pages of 20 bookmarks of every tag, more than fit into the response cache."""
    pages = [(tag, 20 * page) for page in range(50) for tag in collection.TAGS]
    return (f"/?tag={tag}&limit=20&offset={offset}" for tag, offset in cycle(pages))


def every_page(bench: Bench) -> Iterator[str]:
    """Yield pages of 50 bookmarks for a browser, more than fit into the response cache."""
    pages = [(tag, 50 * page) for page in range(20) for tag in collection.TAGS]
    return (f"/?tag={tag}&limit=50&offset={offset}&format=html" for tag, offset in cycle(pages))


def responses(bench: Bench, paths) -> Measured:
    requests = [get(path) for path in paths(bench)]
    ask_twice(bench.many.port, requests)
    return bench.compare(bench.plain("constant"), cycle(requests))


def each(bench: Bench, paths) -> Measured:
    """Compare responses that are requested for the first time with a constant one."""
    requests = map(get, paths(bench))
    return bench.compare(bench.plain("constant"), requests)


def gone(bench: Bench) -> Measured:
    requests = [get(f"/{id}") for id in gone_ids(bench.many.port, 20)]
    ask_twice(bench.many.port, requests)
    return bench.compare(bench.plain("constant"), cycle(requests), status=410)


def unchanged(bench: Bench, paths) -> Measured:
    requests = conditional(bench.many.port, paths(bench))
    ask_twice(bench.many.port, requests)
    return bench.compare(bench.plain("unchanged"), cycle(requests), status=304, plain_status=304)


def searched(bench: Bench) -> Measured:
    """Measure searches on one connection while the others request bookmarks."""
    chance = Random(3)
    pairs = [chance.sample(collection.WORDS, 2) for _ in range(_MOST)]
    searches = cycle([get(f"/?q={a}+{b}&limit=20") for a, b in pairs])
    others = cycle([get(path) for path in one(bench)])
    first(bench.many.port, "/?q=once&limit=1")  # The first search prepares the index.

    def both() -> tuple[Sample, Sample]:
        with ThreadPoolExecutor(1) as searcher:
            search = searcher.submit(bench.load, bench.many, searches, 1)
            return bench.load(bench.many, others, CLIENTS - 1), search.result()

    rounds = bench.turns(both, lambda: (bench.load(bench.many, searches, 1),) * 2)
    tail = median(other.percentile(99) for (other, _), _ in rounds)
    busy, alone = (median(pair[turn][1].percentile(50) for pair in rounds) for turn in (0, 1))
    return Measured([busy, tail], f"p50 {alone:.0f} ms without other requests")


ROWS = (
    Row("get", "`GET /{id}`", [Goal("≥", 0.8)], responses, [one]),
    Row("get-304", "`GET /{id}` with `If-None-Match`", [Goal("≥", 0.8)], unchanged, [one]),
    Row("gone", "`GET /{id}` of a deleted bookmark", [Goal("≥", 0.7)], gone),
    Row("tag", "`GET /?tag=t&limit=20`", [Goal("≥", 0.7)], responses, [tagged]),
    Row("tags", "the same with two common tags", [Goal("≥", 0.7)], responses, [twice_tagged]),
    Row("offset", "`GET /?limit=20` from the middle", [Goal("≥", 0.7)], responses, [halfway]),
    Row("tag-304", "a list with `If-None-Match`", [Goal("≥", 0.8)], unchanged, [tagged]),
    Row("feed", "`GET /feed`", [Goal("≥", 0.6)], responses, [lambda bench: ["/feed"]]),
    Row("html", "the html page of 50", [Goal("≥", 0.6)], responses, [page]),
    Row("get-each", "`GET /{id}`, no two requests alike", [Goal("≥", 0.6)], each, [every_one]),
    Row("list-each", "a list of 20, no two requests alike", [Goal("≥", 0.4)], each, [every_list]),
    Row("html-each", "a page of 50, no two requests alike", [Goal("≥", 0.1)], each, [every_page]),
    Row("q", "`q=` two words: its p50, and the p99 of other requests meanwhile",
        [Goal("≤", 60, "ms"), Goal("≤", 100, "ms")], searched),
)  # fmt: skip
