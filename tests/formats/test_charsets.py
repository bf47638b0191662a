"""Declared charsets are read by the Encoding Standard (https://encoding.spec.whatwg.org/)."""

import pytest

from formats.imports import FILE_READERS

# Bytes of the Encoding Standard's indexes, and what they mean.
CHARSETS = [
    ("x-mac-roman", b"\x8e\xdb\xd2", "é€“"),
    ("X-MAC-SYSTEM", b"\x8e\xdb\xd2", "é€“"),
    ("macintosh", b"\x8e\xdb\xd2", "é€“"),
    ("x-mac-cyrillic", b"\x99\xf3\xea\xe0\xb6", "Щукаґ"),
    ("ibm866", b"\x99\xe3\xaa\xa0", "Щука"),
    ("iso-8859-8-i", b"\xf9\xec\xe5\xed", "שלום"),
    ("x-cp1251", b"\xd9\xf3\xea\xe0\xb4", "Щукаґ"),
    ("koi8", b"\xfd\xd5\xcb\xc1", "Щука"),
    ("latin2", b"\xae\xbb\xf8", "Žťř"),
    ("x-euc-jp", b"\xc6\xfc\xcb\xdc\xb8\xec", "日本語"),
    ("iso-8859-1", b"\xe9\x93\x80", "é“€"),
    ("shift_jis", b"\x93\xfa\x96{\x8c\xea", "日本語"),
    ("utf8", b"\xc3\xa9", "é"),
    ("ISO-8859-15", b"\xa4", "€"),
    ("gb18030", b"\xd5Z", "語"),
    # Browsers read these charsets as their supersets.
    ("gb2312", "朱镕基".encode("gbk"), "朱镕基"),
    ("GBK", "㐂".encode("gb18030"), "㐂"),
    ("euc-kr", "똠방각하".encode("cp949"), "똠방각하"),
    ("Shift_JIS", "①～表".encode("cp932"), "①～表"),
    ("big5", "恒生裏".encode("big5hkscs"), "恒生裏"),
    ("iso-8859-9", "“ğ”".encode("cp1254"), "“ğ”"),
]
DOCUMENTS = {
    "netscape": b'<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=%s">\n'
    b'<DL>\n<DT><A HREF="a:b">%s</A>\n</DL>\n',
    "xbel": b"<?xml version='1.0' encoding='%s'?>\n"
    b"<xbel><bookmark href='a:b'><title>%s</title></bookmark></xbel>\n",
}


@pytest.mark.parametrize("format, line", [("netscape", 3), ("xbel", 2)])
def test_a_declared_charset_is_decoded_as_in_browsers(format, line):
    for label, title, text in CHARSETS:
        (entry,) = FILE_READERS[format](DOCUMENTS[format] % (label.encode(), title))
        assert (entry.fields["title"], entry.place) == (text, line)


def test_one_bookmark_in_xbel_may_have_any_charset(app):
    for label, title, text in CHARSETS:
        body = DOCUMENTS["xbel"] % (label.encode(), title)
        response = app.post("/", body, content_type="application/x-xbel", status="2*")
        assert response.json["title"] == text


@pytest.mark.parametrize("document, count", [
    ("https://a.example/\té\n".encode(), 0),
    ("https://a.example/\t收藏\n".encode("gbk"), 2),
    ("https://a.example/\té\n".encode("utf-16"), 0),
    (DOCUMENTS["netscape"] % (b"gbk", "收藏".encode("gbk")), 0),
    (DOCUMENTS["netscape"] % (b"none", "收藏".encode("gbk")), 2),
    (DOCUMENTS["xbel"] % (b"iso-8859-1", b"\xe9"), 0),
    (b"<xbel><bookmark href='a:b'><title>\xe9</title></bookmark></xbel>", 1),
])  # fmt: skip
def test_bytes_of_an_unknown_charset_are_reported(app, document, count):
    response = app.post("/-/import", document, content_type="text/plain", status=200)
    names = {"bytes that are not UTF-8, read as windows-1252": count} if count else {}
    assert (response.json["created"], response.json["not_read"]) == (1, names)
