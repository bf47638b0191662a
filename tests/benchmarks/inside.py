"""The application alone, called in a process without a server."""

import functools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import ParamSpec, TypeVar

import collection
from bench import FIRST, Bench
from table import Goal, Measured, Row
from webob import Request, Response

import bookmarks
from storage.store import Store

P = ParamSpec("P")
T = TypeVar("T")
_CALLS = 300  # Fewer answers than are kept.


def _elsewhere() -> ProcessPoolExecutor:
    """A process that begins with nothing of this one."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def bare(environ, start_response):
    """A request read and a response with the usual headers, by WebOb's own attributes."""
    request = Request(environ)
    answer = request.method, request.path_info, request.headers.get("Accept")
    assert answer
    response = Response(body=b"x" * 300, content_type="application/json", charset=None)
    response.etag = "0123456789abcdef0123456789abcdef.json"
    response.last_modified = 1_500_000_000
    response.cache_control = "no-cache"
    response.vary = ("Accept",)
    return response(environ, start_response)


def _start_response(*arguments: object) -> None:
    pass


def _median(app, environs: Sequence[dict[str, object]]) -> float:
    """The median microseconds of a call."""
    seconds = []
    for environ in environs:
        own = dict(environ)
        begun = time.perf_counter()
        b"".join(app(own, _start_response))
        seconds.append(time.perf_counter() - begun)
    return 1e6 * median(seconds)


def _environs(app, paths: Iterable[str], is_known: bool) -> list[dict[str, object]]:
    environs = [Request.blank(path).environ for path in paths]
    if is_known:
        for environ in environs:
            answer = Request(dict(environ)).get_response(app)
            environ["HTTP_IF_NONE_MATCH"] = answer.headers["ETag"]
    return environs


def calls(data: Path, paths: Sequence[str], is_known: bool, rounds: int) -> list[list[float]]:
    """Each round's median microseconds: of first answers, of kept ones, and of bare WebOb."""
    environs = _environs(bookmarks.make_app(data), paths, is_known)
    found = []
    for _ in range(rounds):
        app = bookmarks.make_app(data)
        app.store.state()
        first, _again, kept, webob = (_median(called, environs) for called in (app, app, app, bare))
        found.append([first, kept, webob])
    return found


def changes(data: Path, times: int) -> float:
    """The median milliseconds to see that another process has replaced one file."""
    path = data / "bookmarks" / f"{collection.ids(data)[0]}.json"
    before = path.read_bytes()
    store = Store(data)
    seconds = []
    with _elsewhere() as other:
        for number in range(1, times + 1):
            seen = store.state().version
            other.submit(_replace, path, before + b"\n" * (number % 2)).result()
            begun = time.perf_counter()
            state = store.state()
            seconds.append(time.perf_counter() - begun)
            assert state.version != seen
        other.submit(_replace, path, before).result()
    return 1000 * median(seconds)


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


def _alone(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    with _elsewhere() as process:
        return process.submit(function, *arguments, **named).result()


@functools.cache  # For the row of the first answers and that of the later ones.
def _calls_alone(
    data: Path, paths: tuple[str, ...], is_known: bool, rounds: int
) -> list[list[float]]:
    return _alone(calls, data, paths, is_known, rounds)


def first_calls(bench: Bench, paths: Sequence[str], is_known: bool = False) -> Measured:
    """Answers that nobody has asked for since the last change."""
    return _compared(bench, paths, is_known, 0)


def later_calls(bench: Bench, paths: Sequence[str], is_known: bool = False) -> Measured:
    """Answers that somebody has asked for since the last change."""
    return _compared(bench, paths, is_known, 1)


def _compared(bench: Bench, paths: Sequence[str], is_known: bool, column: int) -> Measured:
    paths = tuple(paths or [f"/{id}" for id in bench.ids[:_CALLS]])
    rounds = _calls_alone(bench.data, paths, is_known, bench.rounds)
    ours, webob = (median(row[index] for row in rounds) for index in (column, 2))
    ratio = median(row[column] / row[2] for row in rounds)
    return Measured([ours, ratio], f"WebOb {webob:.1f} µs")


def seeing_many(bench: Bench) -> Measured:
    """A changed file among many."""
    return Measured([_alone(changes, bench.data, 20 * bench.rounds)])


def seeing_few(bench: Bench) -> Measured:
    """A changed file among 1,000."""
    return Measured([_alone(changes, bench.few_data, 20 * bench.rounds)])


_LISTS = [
    f"/?tag={tag}&limit=20&offset={20 * page}" for tag in collection.TAGS[:20] for page in range(15)
]


def _rows(name: str, what: str, bound: float, *arguments: object) -> tuple[Row, Row]:
    goals = (Goal("≤", bound, "µs"), Goal("≤", 2, "× bare WebOb"))
    what = f"in process: {what}"
    return (
        Row(name, what, goals, later_calls, arguments),
        Row(f"{name}-first", f"{what}, {FIRST}", goals, first_calls, arguments),
    )


_SEEN = Goal("≤", 1, "ms")

ROWS = (
    Row("change", "seeing one changed file", [_SEEN], seeing_many),
    Row("change-few", "seeing one changed file among 1,000", [_SEEN], seeing_few),
    *_rows("call-get", "`GET /{id}`", 45, ()),
    *_rows("call-list", "a list of 20", 60, _LISTS),
    *_rows("call-304", "`GET /{id}` with `If-None-Match`", 40, (), True),
)
