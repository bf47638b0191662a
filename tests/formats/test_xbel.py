"""XBEL 1.0: writing valid documents, reading one bookmark from a body, and reading files."""

import os
import subprocess
from pathlib import Path

import pytest

from formats.imports.xbel import read_file
from storage.errors import Malformed
from tests.conftest import require_program

DTD = Path(__file__).parent / "xbel-1.0.dtd"
PUBLIC_ID = "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML"
CATALOG = """\
<?xml version="1.0"?>
<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
<public publicId="{}" uri="{}"/>
</catalog>
"""
NASTY = [
    "<b>&amp;</b>", "\"quotes\" & 'more'", "]]>", "<![CDATA[x]]>", "<!-- -- -->", "&copy=2",
    "a\u0085b\u2028c", "😀 שלום \u202e", "%dtd; &#0;",
]  # fmt: skip


@pytest.fixture
def validate(tmp_path):
    """Return a function that validates a document; a catalog maps its DOCTYPE to the DTD."""
    require_program("xmllint")
    catalog = tmp_path / "catalog.xml"
    catalog.write_text(CATALOG.format(PUBLIC_ID, DTD.as_uri()))

    def validate(document):
        result = subprocess.run(
            ["xmllint", "--nonet", "--noout", "--valid", "-"], input=document, capture_output=True,
            env={**os.environ, "XML_CATALOG_FILES": str(catalog)},
        )  # fmt: skip
        return result.returncode, result.stderr.decode()

    return validate


def post(app, document, status, media_type="application/x-xbel"):
    return app.post("/", document, content_type=media_type, status=status)


# --- Writing ---

def test_a_bookmark_is_an_element_with_title_and_desc(app):
    fields = {"uri": "https://a.example/?a=1&b", "title": "T <1>", "description": "One\nTwo"}
    date = "2001-02-03T04:05:06Z"
    app.put_json("/x-1", fields | {"tags": ["a", "b c"], "created": date}, status=201)
    assert app.get("/?format=xbel", status=200).text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<!DOCTYPE xbel PUBLIC "{PUBLIC_ID}"'
        ' "http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd" [\n'
        "<!ATTLIST bookmark tags CDATA #IMPLIED>\n"
        "]>\n"
        '<xbel version="1.0">\n'
        f'<bookmark id="b-x-1" href="https://a.example/?a=1&amp;b" added="{date}"'
        f' modified="{date}" tags="a,b c">\n'
        "<title>T &lt;1&gt;</title>\n"
        "<desc>One\nTwo</desc>\n"
        "</bookmark>\n"
        "</xbel>\n"
    )


def test_a_list_is_valid_against_the_public_dtd(app, add, validate):
    assert validate(app.get("/?format=xbel", status=200).body) == (0, "")
    for n, value in enumerate(NASTY):
        tag = value.replace("\u0085", "").replace("\u2028", "")
        compact = "".join(tag.split())
        add(f"https://{n}.example/{compact}", title=value, description=value, tags=[tag, "b"])
    add("javascript:alert('<&\">')")
    for id in ("0", "a-b_c", "x" * 64):
        fields = {"uri": f"https://{id}.example/", "title": "", "description": "", "tags": []}
        app.put_json(f"/{id}", fields, status=201)
    for path in ("/?format=xbel", "/a-b_c?format=xbel"):
        assert validate(app.get(path, status=200).body) == (0, "")


# --- Reading one bookmark from a body ---

DOCUMENTS = [
    '<xbel><bookmark href="https://a.example/"><title>Ä &amp; B</title></bookmark></xbel>',
    '\n<!-- - -->\n<xbel version="1.0">\n <title>My list</title>\n <info>'
    '<metadata owner="x"/></info>\n <desc>About</desc>\n <folder folded="no"><title>F</title>\n'
    '<separator/> <bookmark visited="2001" href="https://a.example/"><title>Ä<![CDATA[ & B]]>'
    '</title><info><metadata owner="y"/></info></bookmark>\n</folder>\n</xbel>',
    '<!DOCTYPE xbel SYSTEM "xbel.dtd"><xbel><bookmark href=" https://a.example/ ">'
    "<title> &#196;\n&#38;\tB </title></bookmark></xbel>",
    '<!DOCTYPE xbel PUBLIC "x" "http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd">'
    '<xbel><bookmark href="https://a.example/" added="2001-01-01T00:00:00Z">'
    "<title>Ä &#x26; B</title></bookmark></xbel>",
]  # fmt: skip
MEDIA_TYPES = {
    "utf-8": "application/xbel+xml", "utf-16": "application/xml",
    "iso-8859-1": "text/xml; charset=utf-8",
}  # fmt: skip


def test_documents_of_other_programs_are_read_in_their_declared_charset(app):
    status = 201
    for document in DOCUMENTS:
        for encoding, media_type in MEDIA_TYPES.items():
            body = f'<?xml version="1.0" encoding="{encoding}"?>{document}'.encode(encoding)
            bookmark = post(app, body, status, media_type).json
            status = 200
            assert (bookmark["uri"], bookmark["title"]) == ("https://a.example/", "Ä & B")
    for encoding in ("utf-8", "utf-8-sig"):  # Without a declaration.
        assert post(app, DOCUMENTS[0].encode(encoding), 200, "text/xml").json["title"] == "Ä & B"


def test_a_document_that_is_not_well_formed_is_400(app):
    for document in (
        "", "   ", "no xml", "<xbel>", "<xbel></XBEL>", "<xbel/><xbel/>",
        '<xbel><bookmark href="https://a.example/?a&b"/></xbel>',
        '<xbel><bookmark href="a:b" href="c:d"/></xbel>',
        '<xbel><bookmark href="a:b"><title>&nbsp;</title></bookmark></xbel>',
        '<xbel><bookmark href="a:b"><title>\x01</title></bookmark></xbel>',
        '<xbel><bookmark href="a:b"><title>&#1;</title></bookmark></xbel>',
        '<x:xbel><bookmark href="a:b"/></x:xbel>',
    ):  # fmt: skip
        post(app, document.encode(), 400)


def test_a_field_that_breaks_its_rule_or_another_root_element_is_422(app):
    for document, field in (
        ("<xbel><bookmark/></xbel>", "uri"),
        ('<xbel><bookmark href="a.example"/></xbel>', "uri"),
        ('<xbel><bookmark href="a:b" added="yesterday"/></xbel>', "created"),
    ):
        problem = post(app, document.encode(), 422).json
        assert field in [error["field"] for error in problem["errors"]]
    for document in (b"<html/>", b"<opml><bookmark href='a:b'/></opml>"):
        post(app, document, 422)


# --- Reading files ---

def read(document):
    return list(read_file(document.encode()))


@pytest.mark.parametrize("attributes, fields", [
    ('id="b-x" tags="x,y z"', {"id": "x", "tags": ["x", "y z"]}),
    ('id="12"', {}),
    ('TAGS=",x,"', {"tags": ["x"]}),
    ('added="2001-02-03"', {"created": "2001-02-03T00:00:00Z"}),
    ('added="2001-02"', {"created": "2001-02-01T00:00:00Z"}),
    ('added="2001-02-03T04:05Z"', {"created": "2001-02-03T04:05:00Z"}),
    ('added="1032015210" modified=""', {"created": "2002-09-14T14:53:30Z"}),
    ('added="yesterday" visited="2001"', {"created": "yesterday"}),
    ('added="soon" modified="99999999999"', {"created": "soon", "modified": "99999999999"}),
    ('added="13300000000000000"', {"created": "2022-06-18T04:26:40Z"}),
])  # fmt: skip
def test_attributes_become_fields(attributes, fields):
    (entry,) = read(f'<xbel><bookmark href="a:b" {attributes}/></xbel>')
    assert entry.fields == {"uri": "a:b"} | fields


@pytest.mark.parametrize("inner, fields", [
    ("<title>A <b>b</b></title><title>no</title>", {"title": "A b"}),
    ("<info><metadata><title>no</title></metadata></info>", {}),
    ("<title/><desc/>", {"title": "", "description": ""}),
    ("<bookmark href='c:d'><title>no</title></bookmark>", {}),
    ("<title>A</title><bookmark href='c:d'/>", {"title": "A"}),
    ("<desc>D <info>E</info> F</desc>", {"description": "D E F"}),
    ("<title>A <title>B</title> C</title>", {"title": "A B C"}),
    ("<x><title>no</title></x><title>T</title>", {"title": "T"}),
    ("<title/><title>no</title>", {"title": ""}),
])  # fmt: skip
def test_only_title_and_desc_directly_in_a_bookmark_are_read(inner, fields):
    document = f'<xbel><bookmark href="a:b">{inner}</bookmark></xbel>'
    assert [entry.fields for entry in read(document)][-1] == {"uri": "a:b"} | fields


@pytest.mark.parametrize("around", ["{}", "<metadata>{}</metadata>", "<info><x>{}</x></info>"])
def test_groups_and_the_mark_of_private_bookmarks_of_gnome_become_tags(around):
    namespace = "http://www.freedesktop.org/standards/desktop-bookmarks"
    groups = "<g:groups><g:group>x</g:group><g:group>y</g:group></g:groups>"
    marks = around.format(f"<g:private/>{groups}")
    inner, outer = read(
        f"<xbel xmlns:g='{namespace}'><bookmark href='a:1'>"
        f"<bookmark href='a:2'>{marks}</bookmark></bookmark></xbel>"
    )
    assert inner.fields == {"uri": "a:2", "tags": ["x", "y", "private"]}
    assert outer.fields == {"uri": "a:1"}


def test_folders_become_tags_except_the_top_folders_of_browsers():
    entries = read(
        "<xbel><title>Mine</title><folder><title>A, b</title><desc>no</desc>"
        "<bookmark href='a:1'/><folder><bookmark href='a:2'/></folder><folder><title>C</title>"
        "<bookmark href='a:3' tags='x'/></folder></folder>"
        "<folder><title>Favorites</title><folder><title>Favorites</title><bookmark href='a:4'/>"
        "</folder></folder><bookmark href='a:5'/></xbel>"
    )
    tags = [entry.fields.get("tags") for entry in entries]
    assert tags == [["A", "b"], ["A", "b"], ["x", "A", "b", "C"], ["Favorites"], None]


@pytest.mark.parametrize("rest", [
    "", "</folder>", "<bookmark href='a:2'>", "&nbsp;</xbel>", "</xbel><xbel/>", "<folder>" * 400,
], ids=lambda rest: rest[:20])  # fmt: skip
def test_the_entries_before_an_error_are_read(rest):
    entries = read_file(b"<xbel><bookmark href='a:1'/>" + rest.encode())
    assert next(entries).fields == {"uri": "a:1"}
    with pytest.raises(Malformed, match="line 1|column"):
        list(entries)


@pytest.mark.parametrize("document", [
    "", "<html/>", '<opml><bookmark href="a:b"/></opml>',
    '<!DOCTYPE xbel [<!ENTITY a "b">]><xbel/>',
    '<!DOCTYPE xbel [<!ATTLIST bookmark tags CDATA "x">]><xbel/>',
])  # fmt: skip
def test_a_file_that_is_no_safe_xbel_document_is_malformed(document):
    with pytest.raises(Malformed):
        read(document)
