"""Files that mean harm, or nothing: refused or read in part, in time and memory that they cost."""

import io
import random
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formats import FILES, recognize
from formats.errors import Malformed
from formats.item import MAX_ENTRY, Item
from storage.bookmark import clean
from storage.errors import Invalid

GOLDEN = sorted((Path(__file__).parent / "files").iterdir())
PARTS = [
    *(b"<", b">", b'"', b"'", b"&", b";", b"=", b"/", b"\n", b"\r", b"\0", b"\xff", b"\xe9", b","),
    *(b"[", b"]", b"{", b"}", b":", b"\\", b"\\u", b"\\ud800", b"NaN", b"9" * 5000, b"-1", b"null"),
    *(b"<DT>", b"<DL>", b"</DL>", b"<A HREF=", b"<H3>", b"</A>", b"<!--", b"-->", b"<DD>", b"&#0;"),
    *(b"&#x110000;", b"<![CDATA[", b"]]>", b"<!DOCTYPE", b"<?", b"<folder>", b"</folder>", b"'="),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x85", b"\xe2\x80\xa8"),
]


def read(name, data):
    """How many entries come of it; whatever does can be held to the rules."""
    count = 0
    try:
        for item in FILES[name](io.BytesIO(data)):
            count += 1
            assert isinstance(item, Item) and item.line >= 1
            assert item.skipped == item.skipped.strip()
            try:
                clean(item.fields)
            except Invalid:
                pass
    except Malformed as error:
        assert str(error)
    return count


def mutated(data, chance):
    """The file with some of it taken out, doubled, or replaced."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([0, 1, 1, 2, 9, 99]))
        part = chance.choice([*PARTS, data[start:end] * 2, b"", chance.randbytes(3)])
        data = data[:start] + part + data[end:]
    return data


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_mutated_files_are_read_or_malformed(path):
    chance = random.Random(path.name)
    whole = path.read_bytes()
    name = recognize.kind(whole)
    for _ in range(100):
        data = mutated(whole, chance)
        read(name, data)
        try:
            read(recognize.kind(data), data)
        except Malformed:
            pass


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.one_of(st.binary(max_size=99), st.lists(st.sampled_from(PARTS)).map(b"".join)))
@pytest.mark.parametrize("name", FILES)
def test_anything_is_read_or_malformed(name, data):
    read(name, data)
    read(name, b"url,title\n" + data)
    try:
        assert recognize.kind(data) in FILES
    except Malformed:
        pass


ENDLESS = [
    *(
        ("netscape", b"", part)
        for part in (b"<", b"<a", b"<a ", b'<a "', b"<A HREF='", b"<!--", b"&")
    ),
    *(
        ("netscape", b"", part)
        for part in (b"<DL>", b"<DT>", b"<H3>", b"\n   ", b" ", b"<DT><H3>x\n<DL>")
    ),
    *(
        ("netscape", b"<DT><A", part)
        for part in (b" a", b" a=", b' a="', b"\n", b"=", b"\n\t\t", b" a='b\"")
    ),
    *(
        ("netscape", b"<A HREF=a:b>", part)
        for part in (b"x", b"<b>", b"<int>", b"&#", b"&lt", b"<!")
    ),
    *(("json", b"", part) for part in (b"[", b'{"a":', b"[[", b'"', b" ", b"1", b"[{},")),
    *(("json", b"[", part) for part in (b"1,", b'"a",', b'{"uri":"a:b"},', b"[],", b"\\", b'"\\"')),
    *(("json", b'{"children":', part) for part in (b'[{"title":"a","children":', b"[{},")),
    *(
        ("xbel", b"<xbel>", part)
        for part in (b"<a>", b"<folder>", b"<a ", b"x", b"&lt;", b"<!--", b"<b/>")
    ),
    *(("xbel", b"<xbel><folder><title>", part) for part in (b"x", b"&amp;", b"<title>")),
    *(("xbel", b"<xbel a='", part) for part in (b"x", b"&lt;")),
    *(("csv", b"url,title\n", part) for part in (b'"', b",", b'",', b'"\n', b"a\n", b"x", b"\0")),
    *(("csv", b"", part) for part in (b'"', b",", b";", b"x", b"\r", b"url,")),
    *(("text", b"", part) for part in (b"x", b"a:b\n", b"\n", b"\t", b" | ", b"#", b"a:")),
]


@pytest.mark.parametrize("name, begin, part", ENDLESS)
def test_time_grows_no_faster_than_the_file(name, begin, part):
    """Of what goes on without end, four times as much takes no more than so much longer."""
    times = []
    for size in (MAX_ENTRY // 16, MAX_ENTRY // 4):
        stream = io.BytesIO(begin + part * (size // len(part)))
        started = time.process_time()
        count = sum(1 for _ in until_malformed(FILES[name](stream)))
        times.append(time.process_time() - started)
        assert count <= size
    assert times[1] < 8 * times[0] + 0.2


def until_malformed(items):
    try:
        yield from items
    except Malformed:
        pass


@pytest.mark.parametrize(
    "name, begin, entry, end",
    [
        ("xbel", "<xbel>", '<bookmark href="a:b"><title>%s</title></bookmark>\n', "</xbel>"),
        ("csv", "url,title\n", "a:b,%s\n", ""),
        ("netscape", "<DL><p>\n", '<DT><A HREF="a:b">%s</A>\n', "</DL>"),
        ("text", "", "a:b | %s\n", ""),
    ],
)
def test_a_file_is_never_in_memory_as_a_whole(name, begin, entry, end):
    assert memory_to_read(name, begin, entry, end, 8 * MAX_ENTRY) < 2 * MAX_ENTRY


@pytest.mark.parametrize("begin, end", [("[", "{}]"), ('{"children":[', "{}]}")])
def test_json_takes_less_memory_than_twice_the_file(begin, end):
    entry = '{"uri":"a:b","title":"%s"},\n'
    assert memory_to_read("json", begin, entry, end, 8 * MAX_ENTRY) < 16 * MAX_ENTRY


def memory_to_read(name, begin, entry, end, size):
    one = (entry % ("x" * 900)).encode()
    stream = Repeated(begin.encode(), one, size // len(one), end.encode())
    tracemalloc.start()
    try:
        found = sum(1 for item in FILES[name](stream) if not item.skipped)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == size // len(one)
    return peak


class Repeated(io.RawIOBase):
    """A stream that is made while it is read."""

    def __init__(self, begin, part, count, end):
        self.parts = iter((begin, *(part for _ in range(count)), end))
        self.rest = b""

    def readable(self):
        return True

    def read(self, size=-1):
        while len(self.rest) < size and (part := next(self.parts, None)) is not None:
            self.rest += part
        block, self.rest = self.rest[:size], self.rest[size:]
        return block
