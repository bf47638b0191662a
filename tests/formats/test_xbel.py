"""XBEL 1.0: writing valid documents, reading one bookmark from a body, and reading files."""

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from formats.imports.xbel import read_file
from storage.bookmark import clean
from storage.errors import Invalid, Malformed
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
            ["xmllint", "--nonet", "--noout", "--valid", "-"],
            input=document,
            capture_output=True,
            env={**os.environ, "XML_CATALOG_FILES": str(catalog)},
        )
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


def test_the_validator_of_these_tests_finds_an_undeclared_attribute(validate):
    document = f'<!DOCTYPE xbel PUBLIC "{PUBLIC_ID}" "nowhere.dtd"><xbel>{{}}</xbel>'
    assert validate(document.format("").encode()) == (0, "")
    status, errors = validate(document.format('<bookmark href="a:b" tags="x"/>').encode())
    assert status != 0 and "tags" in errors


def test_a_list_is_valid_against_the_public_dtd(app, add, validate):
    assert validate(app.get("/?format=xbel", status=200).body) == (0, "")
    for n, value in enumerate(NASTY):
        tag = value.replace("\u0085", "").replace("\u2028", "")
        compact = "".join(tag.split())
        add(f"https://{n}.example/{compact}", title=value, description=value, tags=[tag, "b"])
    add("javascript:alert('<&\">')")
    for id in ("0", "a-b_c", "b-1", "x" * 64):
        fields = {"uri": f"https://{id}.example/", "title": "", "description": "", "tags": []}
        app.put_json(f"/{id}", fields, status=201)
    assert validate(app.get("/?format=xbel", status=200).body) == (0, "")


def test_one_bookmark_is_valid_against_the_public_dtd(app, add, validate):
    id = add(title="A", description="B", tags=["c"])["id"]
    assert validate(app.get(f"/{id}?format=xbel", status=200).body) == (0, "")


@pytest.mark.parametrize("value", NASTY, ids=ascii)
def test_an_xml_parser_reads_the_written_values(app, add, value):
    tag = value.replace("\u0085", "").replace("\u2028", "")
    uri = "https://a.example/?" + "".join(tag.split())
    bookmark = add(uri, title=value, description=f"{value}\n {value}", tags=[tag, "b"])
    root = ElementTree.fromstring(app.get("/?format=xbel", status=200).body)
    (element,) = root.findall("bookmark")
    assert element.get("id") == f"b-{bookmark['id']}"
    assert element.get("href") == uri
    assert element.get("added") == bookmark["created"]
    assert element.get("modified") == bookmark["modified"]
    assert element.get("tags") == f"{tag},b"
    assert element.findtext("title") == bookmark["title"]
    assert element.findtext("desc") == bookmark["description"]


# --- Reading one bookmark from a body ---


@pytest.mark.parametrize("document", [
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
])  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_documents_of_other_programs_are_read_in_their_declared_charset(app, document, encoding):
    body = f'<?xml version="1.0" encoding="{encoding}"?>{document}'.encode(encoding)
    bookmark = post(app, body, 201).json
    assert (bookmark["uri"], bookmark["title"]) == ("https://a.example/", "Ä & B")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_document_without_a_declaration_is_utf_8(app, encoding):
    document = '<xbel><bookmark href="https://a.example/"><title>Ä</title></bookmark></xbel>'
    assert post(app, document.encode(encoding), 201).json["title"] == "Ä"


@pytest.mark.parametrize("media_type", [
    "application/x-xbel", "application/xbel+xml", "application/xml", "text/xml",
    "text/xml; charset=utf-8",
])  # fmt: skip
def test_each_media_type_of_xbel_is_accepted(app, media_type):
    document = '<xbel><bookmark href="https://a.example/"/></xbel>'
    post(app, document.encode(), 201, media_type)


@pytest.mark.parametrize("document", [
    "", "   ", "no xml", "<xbel>", "<xbel></XBEL>",
    '<xbel><bookmark href="https://a.example/?a&b"/></xbel>',
    '<xbel><bookmark href="a:b" href="c:d"/></xbel>', "<xbel/><xbel/>",
    '<xbel><bookmark href="a:b"><title>&nbsp;</title></bookmark></xbel>',
    '<xbel><bookmark href="a:b"><title>\x01</title></bookmark></xbel>',
    '<xbel><bookmark href="a:b"><title>&#1;</title></bookmark></xbel>',
    '<x:xbel><bookmark href="a:b"/></x:xbel>',
])  # fmt: skip
def test_a_document_that_is_not_well_formed_is_400(app, document):
    post(app, document.encode(), 400)


@pytest.mark.parametrize("document, field", [
    ("<xbel><bookmark/></xbel>", "uri"),
    ('<xbel><bookmark href=""/></xbel>', "uri"),
    ('<xbel><bookmark href="a.example"/></xbel>', "uri"),
    ('<xbel><bookmark href="a:b" added="yesterday"/></xbel>', "created"),
])  # fmt: skip
def test_a_field_that_breaks_its_rule_is_422(app, document, field):
    problem = post(app, document.encode(), 422).json
    assert field in [error["field"] for error in problem["errors"]]


@pytest.mark.parametrize("document", ["<html/>", "<opml><bookmark href='a:b'/></opml>"])
def test_a_document_with_another_root_element_is_422(app, document):
    post(app, document.encode(), 422)


# --- Reading files ---


def read(document):
    return list(read_file(document.encode()))


def fields_of(attributes):
    (entry,) = read(f'<xbel><bookmark href="a:b" {attributes}/></xbel>')
    return entry.fields


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
    assert fields_of(attributes) == {"uri": "a:b"} | fields


@pytest.mark.parametrize("inner, fields", [
    ("<title>A <b>b</b></title><title>no</title>", {"title": "A b"}),
    ("<info><metadata><title>no</title></metadata></info>", {}),
    ("<title/><desc/>", {"title": "", "description": ""}),
    ("<bookmark href='c:d'><title>no</title></bookmark>", {}),
    ("<desc><title>T</title></desc>", {"description": "T"}),
])  # fmt: skip
def test_only_title_and_desc_directly_in_a_bookmark_are_read(inner, fields):
    document = f'<xbel><bookmark href="a:b">{inner}</bookmark></xbel>'
    assert [entry.fields for entry in read(document)][-1] == {"uri": "a:b"} | fields


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
    "", "</folder>", "<bookmark href='a:2'>", "&nbsp;</xbel>", "</xbel><xbel/>", "<folder>" * 2000,
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


def test_an_element_of_several_mebibytes_does_not_affect_the_next():
    title = "x\n" * 1_500_000
    large, last = read(
        f"<xbel><bookmark href='a:1'><title>{title}</title></bookmark><bookmark href='a:2'/></xbel>"
    )
    assert last == (1_500_001, {"uri": "a:2"}, "")
    with pytest.raises(Invalid, match="title"):
        clean(large.fields)
