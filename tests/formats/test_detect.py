"""Detecting the format of a file by its content; test_imported_files.py has whole files."""

import pytest

from formats.imports import FILE_READERS
from formats.imports.detect import detect_format
from storage.errors import Malformed


@pytest.mark.parametrize("head, name", [
    (b"[]", "json"),
    (b'\xef\xbb\xbf \n[ {"uri": ', "json"),
    (b'{"results": [', "json"),
    (b"{}", "json"),
    (b"<xbel>", "xbel"),
    (
        b'<?xml version="1.0"?>\n<!-- <a href="x"> -->\n<!DOCTYPE xbel SYSTEM "x" [\n]><xbel>',
        "xbel",
    ),
    (b"<!DOCTYPE NETSCAPE-Bookmark-file-1>", "netscape"),
    (b'<html><body><ul>\n<li> <a class="x" href="https://a.example/">', "netscape"),
    (b'<a class="x" href="https://a.example/">', "netscape"),
    (b"<!DOCTYPE NETSCAPE-Bookmark-file-1><DT><A HREF=a:b><div>", "netscape"),
    (b"<DL><p>", "netscape"),
    (b"Written by hand\n<dt><a href=x>", "netscape"),
    (b'<!DOCTYPE NETSCAPE-Bookmark-file-1><DT><A HREF="x"><xbel>', "netscape"),
    (b"url\nhttps://a.example/", "csv"),
    (b'"Title";"URL"', "csv"),
    (b"sep=;\r\nurl;x", "csv"),
    (b"id,uri,title,description,tags,created,modified\r\n", "csv"),
    (b"https://a.example/", "text"),
    (b"# comment\n\nnot one\nhttps://a.example/ | A", "text"),
    (b"data:,<a>", "text"),
    (b"https://a.example/\tA\tdev,link\nhttps://b.example/\tB\tx\n", "text"),
    (b"https://a.example/\tURL\tx", "text"),
    (b"https://a.example/ | Zelda, Link\nhttps://b.example/ | B\n", "text"),
    (b"https://a.example/a,b | A\nhttps://b.example/ | B\n", "text"),
    (b"https://a.example/ | \n", "text"),
    (b"https://a.example/?x=1;url\nhttps://b.example/\n", "text"),
    (b"\r\nurl,title\nhttps://a.example/,A\n", "csv"),
    (b"[not json](https://a.example/)", "text"),
    (b"name https://a.example/", "text"),
    (b"bplist00", "shortcut"),
    (b"[InternetShortcut]\r\nURL=https://a.example/", "shortcut"),
    (b"[internetshortcut]\nurl=https://a.example/", "shortcut"),
    (b"#!/usr/bin/env xdg-open\n\n[Desktop Entry]\n", "shortcut"),
    (b"# Links\n\n[Desktop Entry](https://a.example/)", "text"),
    (b"[2024 in review](https://a.example/)", "text"),
    (b'["Q" title](https://a.example/)', "text"),
    (b'["Q"](https://a.example/)', "text"),
    (b"[1] https://a.example/ A", "text"),
    (b"[](https://a.example/)", "text"),
    (b'[ "a" , 1]', "json"),
    (b"[[1, 2]]", "json"),
    (b"[[[{}]]]", "json"),
    pytest.param(b"\n" * 70_000 + b"https://a.example/", "text", id="text after blank lines"),
])  # fmt: skip
def test_a_known_format_is_detected(head, name):
    assert detect_format(head) == name
    assert name in FILE_READERS


@pytest.mark.parametrize("head, reason", [
    (b"", "empty"),
    (b" \r\n\xef\xbb\xbf", "empty"),
    (b"\xef\xbb\xbf\n", "empty"),
    (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
    (bytes(range(256)), "binary"),
    (b"SQLite format 3\0", "export the bookmarks"),
    (b"mozLz40\0abc", "Firefox"),
    (b"PK\3\4", "ZIP"),
    (b"<?xml version='1.0'?>", "without any element"),
    (b"<html><p>Nothing</p></html>", "html"),
    (b'<!DOCTYPE html><html><p>See <a href="https://a.example/">this</a></html>', "html"),
    (b'<html><link rel="x"><ul><li><a href="https://a.example/">A</a></ul></html>', "html"),
    (b"<div><dl><dt>Word<dd>Its meaning</dl></div>", "div"),
    (b"Dear diary,\ntoday", "text of an unknown kind"),
    (b"[{% block %}]", "text of an unknown kind"),
    (b"{\\rtf1", "RTF document: save it as plain text"),
    (b"A title,https://a.example/\n", "No column"),
    (b'1;"https://a.example/"\n', "No column"),
    (b"https://a.example/,A,x\nhttps://b.example/,B,y\n", "No column"),
    (b"https://a.example/;A title;x\n", "No column"),
    (b"# only a comment", "text of an unknown kind"),
])  # fmt: skip
def test_any_other_file_is_refused_with_a_description(head, reason):
    with pytest.raises(Malformed, match=reason):
        detect_format(head)
