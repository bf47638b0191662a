"""Files of thousands of entries of each kind are imported by the command, all of them.

BOOKMARKS_TEST_ENTRIES sets the number of entries. The seconds of each kind are printed.
"""

import json
import os
import re
import time
import xml.etree.ElementTree as ET

import pytest

from bookmarks import main
from tests.formats.test_imported_files import EXPECTED, read_text

ENTRIES = int(os.environ.get("BOOKMARKS_TEST_ENTRIES", "500"))
# These are damaged or in an old charset, or their entries cannot be repeated with other hosts.
SINGLE = (
    *("broken.html", "cut.csv", "short-rows.csv", "undeclared.html"),
    *("windows-1252.json", "windows-1252.xml", "gnome.xml", "floccus.json"),
    "addresses.json",  # The items of its list are texts.
    "pocket-api.json",  # Its entries are members of one object, named by numbers.
)
KINDS = [
    name
    for name, expected in EXPECTED.items()
    if name not in SINGLE and expected.format != "shortcut"
]


def numbered(text, number):
    """Return the text with another host in each web address."""
    return re.sub(r"\b(https?://)", rf"\1n{number}.", text)


def enlarge_text(text, copies, first_line):
    """Repeat all lines from the first entry on."""
    lines = text.splitlines(keepends=True)
    head, rest = "".join(lines[: first_line - 1]), "".join(lines[first_line - 1 :])
    return head + "".join(numbered(rest.rstrip("\n") + "\n", number) for number in range(copies))


def enlarge_json(value, copies):
    """Repeat the items of the outermost lists of objects."""
    if isinstance(value, dict):
        return {name: enlarge_json(member, copies) for name, member in value.items()}
    if not (isinstance(value, list) and all(isinstance(item, dict) for item in value)):
        return value
    text = json.dumps(value)
    return [item for number in range(copies) for item in json.loads(numbered(text, number))]


def enlarge_xml(text, copies):
    """Repeat the innermost children that have all addresses of the document."""
    root = ET.fromstring(text)
    parent = root
    while len(having := [child for child in parent if b"://" in ET.tostring(child)]) == 1:
        if not any(b"://" in ET.tostring(child) for child in having[0]):
            break
        parent = having[0]
    for number in range(copies):
        for child in having:
            parent.append(ET.fromstring(numbered(ET.tostring(child, "unicode"), number)))
    for child in having:
        parent.remove(child)
    return ET.tostring(root, "unicode")


def enlarge(name, copies):
    """Return the content of this golden file with its entries repeated."""
    format, entries, _ = EXPECTED[name]
    text = read_text(name)
    if format == "json":
        return json.dumps(enlarge_json(json.loads(text), copies))
    if format in ("xbel", "outline"):
        return enlarge_xml(text, copies)
    return enlarge_text(text, copies, min(entry.place for entry in entries))


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_many_entries_is_imported(tmp_path, capsys, name):
    copies = -(-ENTRIES // len(EXPECTED[name].entries))
    large, data = tmp_path / name, tmp_path / "data"
    large.write_text(enlarge(name, copies))
    started = time.perf_counter()
    status = main(["import", str(large), "--data", str(data)])
    seconds = time.perf_counter() - started
    printed = capsys.readouterr()
    numbers = {what: int(number) for number, what in re.findall(r"(\d+) (\w+)", printed.out)}
    assert sum(numbers.values()) >= ENTRIES, printed
    assert numbers["created"] >= copies, printed
    assert len(list((data / "bookmarks").iterdir())) == numbers["created"]
    assert status == bool(numbers["skipped"])
    with capsys.disabled():
        print(f"{name:26} {sum(numbers.values()):6,} entries {seconds:5.1f} s")
