"""Damaged and hostile files: any bytes are read or malformed, in time linear in their size."""

import random
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formats.imports import FILE_READERS, read_entries
from formats.imports.detect import detect_format
from formats.imports.entry import ImportedEntry, note_of_unused_values
from storage.bookmark import clean
from storage.errors import Invalid, Malformed
from storage.importer import NOT_READ, Importer
from storage.store import Store

GOLDEN = sorted((Path(__file__).parent / "files").iterdir())
PARTS = [
    *(b"<", b">", b'"', b"'", b"&", b";", b"=", b"/", b"\n", b"\r", b"\0", b"\xff", b"\xe9", b","),
    *(b"[", b"]", b"{", b"}", b":", b"\\", b"\\u", b"\\ud800", b"NaN", b"9" * 5000, b"-1", b"null"),
    *(b"<DT>", b"<DL>", b"</DL>", b"<A HREF=", b"<H3>", b"</A>", b"<!--", b"-->", b"<DD>", b"&#0;"),
    *(b"&#x110000;", b"<![CDATA[", b"]]>", b"<!DOCTYPE", b"<?", b"<folder>", b"</folder>", b"'="),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x85", b"\xe2\x80\xa8"),
]


def assert_readable(format, data):
    """Assert that reading raises nothing but Malformed, and checking an entry nothing but Invalid.

    A file may be malformed after some entries.
    """
    try:
        for entry in FILE_READERS[format](data):
            assert isinstance(entry, ImportedEntry)
            assert entry.skip_reason == entry.skip_reason.strip()
            if entry.skip_reason == NOT_READ:
                assert entry.place == 0  # It stands for the whole file.
                continue
            assert isinstance(entry.place, str) if format == "json" else entry.place >= 1
            with suppress(Invalid):
                clean(entry.fields)
    except Malformed as error:
        assert str(error)


def mutate(data, chance, parts=PARTS):
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([0, 1, 1, 2, 9, 99]))
        part = chance.choice([*parts, data[start:end] * 2, b"", chance.randbytes(3)])
        data = data[:start] + part + data[end:]
    return data


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_mutated_file_is_read_or_malformed(path):
    chance = random.Random(path.name)
    original = path.read_bytes()
    format = detect_format(original)
    for _ in range(20):
        data = mutate(original, chance)
        assert_readable(format, data)
        with suppress(Malformed):
            assert_readable(detect_format(data), data)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.one_of(st.binary(max_size=99), st.lists(st.sampled_from(PARTS)).map(b"".join)))
@pytest.mark.parametrize("format", FILE_READERS)
def test_any_bytes_are_read_or_malformed(format, data):
    assert_readable(format, data)
    assert_readable(format, b"url,title\n" + data)
    assert_readable(format, b"Opera Hotlist version 2.0\n#URL\n" + data)
    with suppress(Malformed):
        assert detect_format(data) in FILE_READERS


DECLARATIONS = "".join(f"<!ATTLIST bookmark a{n} CDATA #IMPLIED>" for n in range(12_000))


@pytest.mark.parametrize("beginning, bookmark, reason", [
    ('<xbel xmlns="{}">', "<bookmark/>", "namespace"),
    ('<xbel xmlns:x="{}">', "<x:bookmark/>", "namespace"),
    ('<xbel xmlns:x="{}">', "<bookmark x:href=''/>", "namespace"),
    (f"<!DOCTYPE xbel [{DECLARATIONS}]><xbel>", "<bookmark/>", "declared attributes"),
    ('<!DOCTYPE xbel [<!ATTLIST bookmark a CDATA "{}">]><xbel>', "<bookmark/>", "default"),
    ("<xbel>", "<folder>", "500 levels"),
    ("<xbel>", "<x>", "500 levels"),
], ids="default prefix attribute declarations value folders other_tags".split())  # fmt: skip
def test_xml_that_expat_would_keep_in_memory_is_refused(beginning, bookmark, reason):
    document = beginning.replace("{}", "x:" + "n" * 250_000) + bookmark * 60_000 + "</xbel>"
    started = time.process_time()
    with pytest.raises(Malformed, match=reason):
        list(FILE_READERS["xbel"](document.encode()))
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("format, beginning, worthless", [
    ("text", "a:b\n", "x\n"),
    ("csv", "url\na:b\n", ",\n"),
    ("csv", "url\na:b\n", "x\n"),
    ("xbel", "<xbel><bookmark href='a:b'/>", "<bookmark href='x'/>"),
    ("netscape", "<DL>\n<DT><A HREF=a:b>A</A>\n", "<HR>"),
    ("opera", "Opera Hotlist version 2.0\n#URL\n\tURL=a:b\n", "#DELETED\n"),
])  # fmt: skip
def test_entries_without_a_bookmark_are_limited(
    format, beginning, worthless, tmp_path, monkeypatch
):
    monkeypatch.setattr("storage.importer.MAX_ENTRIES_WITHOUT_BOOKMARK", 1_000)
    data = beginning + worthless * 5_000
    importer = Importer(Store(tmp_path))
    report = importer.import_all(read_entries(data.encode(), format, ""))
    assert report.created == 1 and report.skipped + report.ignored <= 1_200
    assert report.entries[-1].reason.startswith("The rest of the request is not read")
    assert report.not_read == {}
    notes = [note_of_unused_values({"icon": 1})]
    assert importer.import_all(notes).not_read == {"icon": 1}


@pytest.mark.parametrize("format, field, document", [
    (
        "xbel", "title",
        "<xbel><bookmark href='a:1'><title>{}</title></bookmark><bookmark href='a:2'/></xbel>",
    ),
    ("netscape", "uri", "<DL><DT><A HREF='data:,{}'>T</A><DT><A HREF='a:2'>2</A></DL>"),
])  # fmt: skip
def test_an_entry_of_several_mebibytes_does_not_affect_the_next(format, field, document):
    data = document.format("x\n" * 1_500_000)
    large, last = FILE_READERS[format](data.encode())
    assert (large.place, last.place, last.fields["uri"]) == (1, 1_500_001, "a:2")
    with pytest.raises(Invalid, match=field):
        clean(large.fields)


@pytest.mark.parametrize("begin", [b"", b"[", b"<", b"<!--", b"<!DOCTYPE x [", b"a,", b"a://b"])
def test_the_time_to_detect_a_format_is_short(begin):
    for part in (b"\t", b" ", b"\n", b",", b"]", b"-->", b",\t", b'"', b"<a "):
        data = begin + part * (40_000 // len(part))
        started = time.process_time()
        with suppress(Malformed):
            detect_format(data)
        assert time.process_time() - started < 0.5, part
