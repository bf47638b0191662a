"""White space in the addresses of a file is encoded as browsers do it, in every format."""

import json

import pytest

from formats.imports import FILE_READERS
from storage.bookmark import clean
from storage.errors import Invalid

FILES_WITH_ADDRESS = {
    "json": lambda uri: json.dumps([{"uri": uri}, {"url": uri}], ensure_ascii=False),
    "xbel": lambda uri: f'<xbel><bookmark href="{uri}"/></xbel>',
    "csv": lambda uri: f'url,title\n"{uri}",A\n',
    "text": lambda uri: f"{uri}\tA\n- [A]({uri})\n* [[{uri}][A]]\n",
    "opera": lambda uri: f"Opera Hotlist version 2.0\n\n#URL\n\tURL={uri}\n",
    "netscape": lambda uri: f'<DT><A HREF="{uri}">A</A>\n',
}


@pytest.mark.parametrize("format", FILES_WITH_ADDRESS)
@pytest.mark.parametrize("uri, expected", [
    (" https://a.example/My Documents/x y ", "https://a.example/My%20Documents/x%20y"),
    ("https://a.example/?q=a\u00a0b", "https://a.example/?q=a%C2%A0b"),
    ("https://a.example/\u3000\u2003x\u0085", "https://a.example/%E3%80%80%E2%80%83x"),
    ("https://a.example/ü", "https://a.example/ü"),
])  # fmt: skip
def test_white_space_in_an_address_is_percent_encoded(format, uri, expected):
    for entry in FILE_READERS[format](FILES_WITH_ADDRESS[format](uri).encode()):
        assert (entry.fields["uri"], entry.skip_reason) == (expected, "")
        assert clean(entry.fields)["uri"] == expected


@pytest.mark.parametrize("format", ["json", "csv"])
def test_tabs_and_line_breaks_in_an_address_are_removed(format):
    data = FILES_WITH_ADDRESS[format]("https://a.\texample/\r\nx").encode()
    for entry in FILE_READERS[format](data):
        assert entry.fields["uri"] == "https://a.example/x"


@pytest.mark.parametrize("format", sorted({*FILES_WITH_ADDRESS} - {"text"}))
def test_a_blank_in_a_script_is_percent_encoded_and_an_address_of_blanks_is_missing(format):
    data = FILES_WITH_ADDRESS[format]("javascript:alert('x y')").encode()
    for entry in FILE_READERS[format](data):
        assert entry.fields["uri"] == "javascript:alert('x%20y')"
    for entry in FILE_READERS[format](FILES_WITH_ADDRESS[format](" \u00a0").encode()):
        assert entry.skip_reason == "has no uri"


def test_white_space_in_an_address_that_is_too_long_is_not_encoded():
    """Encoding each of many megabytes would take long and 30 times as much memory."""
    text = FILES_WITH_ADDRESS["netscape"]("https://a.example/ x" + " x" * 40_000)
    (entry,) = FILE_READERS["netscape"](text.encode())
    with pytest.raises(Invalid, match="white space"):
        clean(entry.fields)


def test_a_single_bookmark_that_is_sent_must_not_contain_white_space(app):
    for uri in ("https://a.example/ x", "https://a.example/\u00a0x"):
        fields = {"uri": uri, "title": "", "description": "", "tags": []}
        for send, path in ((app.post_json, "/"), (app.put_json, "/a")):
            (error,) = send(path, fields, status=422).json["errors"]
            assert error["field"] == "uri"
