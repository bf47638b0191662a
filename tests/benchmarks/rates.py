"""How many reads a second: rows that are measured against a constant answer, and by size."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from random import Random
from statistics import median

import collection
from bench import FIRST, Bench, share
from load import CLIENTS, Sample, ask_twice, conditional, first, get
from table import Goal, Measured, Row
from writes import Writer

_MOST = 5000  # Fewer different requests than answers are kept.
_COMMON = collection.TAGS[:20]
_PAIRS = [
    (tag, other) for tag in collection.TAGS[:4] for other in collection.TAGS[:4] if tag < other
]


def one(bench: Bench, size: int) -> list[str]:
    """Bookmarks at random."""
    return [f"/{id}" for id in bench.ids[:_MOST]]


def tagged(bench: Bench, size: int) -> list[str]:
    """The first page of common tags."""
    return [f"/?tag={tag}&limit=20" for tag in _COMMON]


def twice_tagged(bench: Bench, size: int) -> list[str]:
    """The first page of two common tags."""
    return [f"/?tag={tag}&tag={other}&limit=20" for tag, other in _PAIRS]


def halfway(bench: Bench, size: int) -> list[str]:
    """Pages from the collection's middle."""
    return [f"/?limit=20&offset={size // 2 + page}" for page in range(20)]


def feed(bench: Bench, size: int) -> list[str]:
    """The feed."""
    return ["/feed"]


def page(bench: Bench, size: int) -> list[str]:
    """The page of 50, for a browser."""
    return [f"/?tag={tag}&limit=50&format=html" for tag in _COMMON]


def answers(bench: Bench, paths) -> Measured:
    """Whole answers that were asked for before, against a constant one."""
    requests = [get(path) for path in paths(bench, len(bench.ids))]
    ask_twice(bench.many.port, requests)
    return bench.compare(bench.many, bench.constant, requests, requests)


def first_answers(bench: Bench) -> Measured:
    """Bookmarks that nobody has asked for since the last change, against a constant answer."""
    requests = [get(f"/{id}") for id in bench.ids[_MOST:] or bench.ids]
    return bench.compare(bench.many, bench.constant, requests, requests)


def unchanged(bench: Bench, paths) -> Measured:
    """Answers to a client that has them, against a constant 304."""
    requests = conditional(bench.many.port, paths(bench, len(bench.ids)))
    ask_twice(bench.many.port, requests)
    return bench.compare(bench.many, bench.unchanged, requests, requests, status=304)


def sizes(bench: Bench, paths) -> Measured:
    """Whole answers of many bookmarks, against those of 1,000."""
    many = [get(path) for path in paths(bench, len(bench.ids))]
    few = [get(path) for path in paths(bench, 1000)]
    ask_twice(bench.many.port, many)
    ask_twice(bench.few.port, few)
    return bench.compare(bench.many, bench.few, many, few)


def while_written(bench: Bench) -> Measured:
    """A tag's list while somebody else writes bookmarks with it, against a constant answer."""
    tag = collection.TAGS[5]
    requests = cycle([get(f"/?tag={tag}&limit=20")])

    def busy() -> Sample:
        with Writer(bench.many.port, tag):
            return bench.load(bench.many, requests)

    rounds = bench.turns(
        lambda: bench.load(bench.many, requests),
        busy,
        lambda: bench.load(bench.constant, requests),
    )
    quiet, written, ceiling = zip(*rounds, strict=True)
    tails = [[sample.percentile(99) for sample in samples] for samples in (written, quiet)]
    ratio = median(tail / before for tail, before in zip(*tails, strict=True))
    shares = share([[w.rate, c.rate] for w, c in zip(written, ceiling, strict=True)])
    slow, usual = map(median, tails)
    return Measured(
        [*shares.values, ratio], f"{shares.details}; p99 {slow:.1f} ms, quiet {usual:.1f} ms"
    )


def searched(bench: Bench) -> Measured:
    """Searches without pause on one connection, while the others ask for bookmarks."""
    chance = Random(3)
    pairs = [chance.sample(collection.WORDS, 2) for _ in range(_MOST)]
    searches = cycle([get(f"/?q={a}+{b}&limit=20") for a, b in pairs])
    others = cycle([get(path) for path in one(bench, len(bench.ids))])
    first(bench.many.port, "/?q=once&limit=1")  # The first search prepares what the others need.

    def both() -> tuple[Sample, Sample]:
        with ThreadPoolExecutor(1) as searcher:
            found = searcher.submit(bench.load, bench.many, searches, 1)
            return bench.load(bench.many, others, CLIENTS - 1), found.result()

    rounds = bench.turns(both, lambda: (bench.load(bench.many, searches, 1),) * 2)
    tail = median(asked.percentile(99) for (asked, _), _ in rounds)
    busy, alone = (median(pair[turn][1].percentile(50) for pair in rounds) for turn in (0, 1))
    return Measured([busy, tail], f"p50 {alone:.0f} ms with nobody else")


_LISTS = (
    ("tag", "`GET /?tag=t&limit=20`", tagged, 0.7),
    ("tags", "the same with two common tags", twice_tagged, 0.7),
    ("offset", "`GET /?limit=20`, offset = half the collection", halfway, 0.7),
    ("feed", "`GET /feed`", feed, 0.6),
    ("html", "the html page of 50", page, 0.6),
)

ROWS = (
    Row("get", "`GET /{id}`", [Goal("≥", 0.8)], answers, [one]),
    Row("get-first", f"the same, {FIRST}", [Goal("≥", 0.8)], first_answers),
    Row("get-304", "`GET /{id}` with `If-None-Match`", [Goal("≥", 0.8)], unchanged, [one]),
    *(Row(name, what, [Goal("≥", bound)], answers, [paths]) for name, what, paths, bound in _LISTS),
    Row("tag-304", "a list with `If-None-Match`", [Goal("≥", 0.8)], unchanged, [tagged]),
    Row(
        "tag-written",
        "`GET /?tag=t&limit=20` while 40 bookmarks with that tag are written a second",
        [Goal("≥", 0.5), Goal("≤", 3, "× the quiet p99")],
        while_written,
    ),
    Row(
        "q",
        "`q=` two words: its p50, and the p99 of other requests meanwhile",
        [Goal("≤", 60, "ms"), Goal("≤", 100, "ms")],
        searched,
    ),
    *(
        Row(f"{name}-sizes", f"{what}: rate against 1,000 bookmarks", [Goal("≥", 0.9)], sizes, [p])
        for name, what, p, _ in _LISTS
    ),
)
