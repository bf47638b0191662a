"""Plain text: writing one line for each bookmark, and reading lists of addresses."""

import pytest

from formats.imports.text import read_file
from storage.errors import Malformed
from storage.importer import NOT_READ


def list_lines(app):
    response = app.get("/?format=text", status=200)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    text = response.body.decode()
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


def test_a_line_has_uri_title_and_tags(add, app):
    add("https://1.example/", title="One", tags=["a", "b c"], created="2001-01-01T00:00:00Z")
    add("https://2.example/", description="Not written", created="2002-01-01T00:00:00Z")
    assert app.get("/?format=text", status=200).text == (
        "https://2.example/\thttps://2.example/\t\nhttps://1.example/\tOne\ta,b c\n"
    )


def test_each_bookmark_is_one_line_of_three_cells_whatever_its_title(app, add):
    assert list_lines(app) == []
    titles = ["two\nlines", "tab\there", "next\u0085line", "line\u2028and\u2029paragraph", "<b> &"]
    for number, title in enumerate(titles):
        bookmark = add(f"x:{number}", title=title, description="x\ny", tags=["a b", "c\u00a0d"])
        lines = list_lines(app)
        assert f"x:{number}\t{bookmark['title']}\ta b,c\u00a0d" in lines
        assert [line.count("\t") for line in lines] == [2] * (number + 1)
        assert len("\n".join(lines).splitlines()) == number + 1


# --- Reading ---

def read(text):
    return list(read_file(text.encode()))


@pytest.mark.parametrize("line, fields", [
    ("https://a.example/", {"uri": "https://a.example/"}),
    ("  https://a.example/ \r", {"uri": "https://a.example/"}),
    ("x:y\tA title\ta,b c", {"uri": "x:y", "title": "A title", "tags": ["a", "b c"]}),
    ("x:y\tA | b\t", {"uri": "x:y", "title": "A | b"}),
    ("x:y\tA", {"uri": "x:y", "title": "A"}),
    ("x:y | A | b", {"uri": "x:y", "title": "A | b"}),
    ("x:y | A |", {"uri": "x:y", "title": "A |"}),
    ("x:y | ", {"uri": "x:y", "title": ""}),
    ("x:y |", {"uri": "x:y", "title": ""}),
    ("x:y|A", {"uri": "x:y|A"}),
    ("x:y|", {"uri": "x:y|"}),
    ("https://a.example/a b c", {"uri": "https://a.example/a", "title": "b c"}),
    ("https://a.example/ - A, b", {"uri": "https://a.example/", "title": "A, b"}),
    ("A b https://a.example/", {"uri": "https://a.example/", "title": "A b"}),
    ("[1] https://a.example/ A", {"uri": "https://a.example/", "title": "A"}),
    ("A b - https://a.example/", {"uri": "https://a.example/", "title": "A b"}),
    ("A b: https://a.example/", {"uri": "https://a.example/", "title": "A b"}),
    ("https://a.example: A", {"uri": "https://a.example", "title": "A"}),
    ("A -- https://a.example/", {"uri": "https://a.example/", "title": "A --"}),
    ('https://a.example/ "x y" "z"', {"uri": "https://a.example/", "tags": ["x y", "z"]}),
])  # fmt: skip
def test_a_line_that_begins_with_a_uri_is_an_entry(line, fields):
    assert read(f"# x:y\n\n{line}\n")[0] == (3, fields, "")


@pytest.mark.parametrize("line, uri, title, tags", [
    ("- [A title](x:y)", "x:y", "A title", []),
    ("* [A](x:y) <!-- TAGS: a,b c -->", "x:y", "A", ["a", "b c"]),
    ("[A](x:y(z))", "x:y(z)", "A", []),
    ("1. [ ] [A \\[b\\]](x:y 'T')", "x:y", "A [b]", []),
    ("See [![A](p.png)](x:y)", "x:y", "A", []),
    ("[A](x:y_\\(z\\))", "x:y_(z)", "A", []),
    ("[A\\_b](x:y\\_\\)\\z)", "x:y_)\\z", "A_b", []),
    ("[A](x:y (A title))", "x:y", "A", []),
    ("- [](x:y)", "x:y", "", []),
    ("- <x:y> <!-- TAGS: a -->", "x:y", "", ["a"]),
    ("* [[x:y][A [b] c]] :a:b_c:", "x:y", "A [b] c", ["a", "b_c"]),
    ("** [[x:y[1]][A]]", "x:y[1]", "A", []),
    ("- [[x:y][A]] :a:", "x:y", "A", ["a"]),
])  # fmt: skip
def test_links_of_markdown_and_org_are_read(line, uri, title, tags):
    (entry,) = read(f"\n{line}\n")
    assert {"tags": [], **entry.fields} == {"uri": uri, "title": title, "tags": tags}
    assert (entry.place, entry.skip_reason) == (2, "")


def test_a_bookmarklet_may_have_balanced_parentheses():
    uri = "javascript:(function(){alert((1))})()"
    (entry,) = read(f"- [A]({uri}) - text (see docs)")
    assert (entry.fields["uri"], entry.fields["description"]) == (uri, "text (see docs)")
    # GitHub Flavored Markdown, section 6.9: a parenthesis is a part of it if its pair is, too.
    _, address = read("(https://a.example/b_(c)), then [D](https://d.example/)")
    assert address.fields["uri"] == "https://a.example/b_(c)"
    (entry,) = read("![P](https://p.example/) [A](x:y) at https://a.example/")
    assert entry.fields["description"] == "at https://a.example/"


def test_every_link_of_a_line_of_markdown_is_an_entry_with_the_tags_of_its_headings():
    entries = read("# B\n## C ##\n[1](a:1), <a:2>\n# D\n[3](a:3)\n")
    found = [(entry.place, entry.fields["uri"], entry.fields["tags"]) for entry in entries]
    assert found == [(3, "a:1", ["B", "C"]), (3, "a:2", ["B", "C"]), (5, "a:3", ["D"])]


def test_the_links_of_a_heading_are_entries_and_their_titles_are_its_tag():
    first, second, third = read("# B\n## [C](c:1) ##\n[1](a:1)\n## On https://a.example/\n")
    assert first.fields == {"uri": "c:1", "title": "C", "tags": ["B"]}
    assert second.fields["tags"] == ["B", "C"]
    assert third.fields == {"uri": "https://a.example/", "title": "On", "tags": ["B"]}


def test_the_text_between_the_first_link_of_a_line_and_the_next_is_its_description():
    tool, demo = read("- [A](a:1) - A tool. ([Demo](a:2)) and `more` <!-- TAGS: x,y -->\n")
    assert (tool.fields["description"], tool.fields["tags"]) == ("A tool.", ["x", "y"])
    assert demo.fields == {"uri": "a:2", "title": "Demo"}
    assert "description" not in read("[A](a:1) and [B](a:2)")[0].fields


@pytest.mark.parametrize("line, uris", [
    ("- https://a.example/ and [C](https://c.example/)", "c a"),
    ("https://a.example/ see [C](https://c.example/)", "c a"),
    ("- [D](https://d.example/) [E](https://e.example/) (https://f.example/).", "d e f"),
    ("- [I](https://i.example/): [P](https://p.example/) `git clone https://x`", "i p"),
    ('- <img src="https://x/i.png"> [H](https://h.example/)', "h"),
    ("- ![x](https://x/i.png) [H](https://h.example/)", "h"),
    ("- ![x](https://x/i_(1).png) [H](https://h.example/)", "h"),
    ("[A](https://a.example/)|https://b.example/|[C](https://c.example/)", "a c b"),
    ("[A](https://a.example/) (see 'https://b.example/') [C](https://c.example/)", "a c b"),
    ("[A](https://a.example/) [or https://b.example/] [C](https://c.example/)", "a c b"),
])  # fmt: skip
def test_an_address_beside_a_link_of_markdown_is_a_link_too(line, uris):
    found = [entry.fields["uri"] for entry in read(line)]
    assert found == [f"https://{name}.example/" for name in uris.split()]


@pytest.mark.parametrize("line", [
    "https://a.example/ see https://b.example/", "https://a.example/a;Rust vs. Go",
    "one https://a.example/ two",
])  # fmt: skip
def test_a_line_with_two_readings_is_skipped(line):
    (skipped, _) = read(f"{line}\nx:y")
    assert (skipped.place, skipped.fields) == (1, {"uri": line})
    assert "two readings" in skipped.skip_reason


@pytest.mark.parametrize("lines", [
    ["https://1.example/a;Node.js"],
    ["https://1.example/a;Node.js", "https://2.example/b;"],
    ["https://1.example/, One", "https://2.example/ ,Two | Second"],
    ['"https://1.example/";"One, or so"', 'https://2.example/;"Two"'],
    ["https://1.example/,One,a", "https://2.example/,Two,b"],
    ["https://1.example/a,12", "https://2.example/b,7"],
    ["One;https://1.example/", 'Two; "https://2.example/"'],
    ["# A comment", "https://1.example/Paris,Texas"],
    ["Adresse,Titel", "https://1.example/,One"],
    ["Titel\tAdresse", "One\thttps://1.example/", "Two\thttps://2.example/"],
    ["Adresse|Titel", "https://1.example/|One", 'Two|"https://2.example/"'],
])  # fmt: skip
def test_a_table_without_a_known_name_for_the_column_of_addresses_is_refused(lines):
    with pytest.raises(Malformed, match=r"No column .* such as url[,;|\t]title. Or, .* a tab"):
        read("\n".join(lines))


@pytest.mark.parametrize("uri", [
    "https://1.example/wiki/Paris,Texas", "https://1.example/a;jsessionid=1",
    "https://1.example?a;b", "https://1.example/@48.1,11.5,15z",
])  # fmt: skip
def test_an_address_may_contain_a_separator_that_another_line_lacks(uri):
    assert [entry.fields["uri"] for entry in read(f"{uri}\nhttps://2.example/")][0] == uri
    assert read(f"{uri}\tA") == [(1, {"uri": uri, "title": "A"}, "")]


@pytest.mark.parametrize("line, title", [
    ("https://a.example/, One", "One"),
    ("https://a.example/ ; One", "One"),
    ("One, https://a.example/", "One"),
    ('https://a.example/; "One"', '"One"'),
    ('https://a.example/ He said "no"', 'He said "no"'),
    ('https://a.example/ "tag" word', '"tag" word'),
    ('"A" https://a.example/', '"A"'),
])  # fmt: skip
def test_a_separator_between_an_address_and_its_title_belongs_to_neither(line, title):
    (entry, _) = read(f"{line}\nx:y")
    assert entry == (1, {"uri": "https://a.example/", "title": title}, "")


def test_the_properties_of_org_are_named_as_not_read():
    text = "* A\n:PROPERTIES:\n:ID: x\n:CREATED: [2024-01-02]\n:END:\n** [[a:1][B]]\n:CREATED: x\n"
    first, note = read(text)
    assert (first.place, first.fields["uri"]) == (6, "a:1")
    assert note == (0, {"CREATED": 2}, NOT_READ)


def test_prose_of_markdown_is_ignored_and_other_text_is_skipped():
    markdown = read("# Links\nSome prose.\n[A](x:y)\nsee https://a.example/ and\n")
    reasons = [entry.skip_reason.partition(":")[0] for entry in markdown]
    assert reasons == ["is no bookmark", "", "has two readings"]
    words, _ = read("Some prose.\nx:y\n")
    assert words.skip_reason == "does not begin with a uri"


@pytest.mark.parametrize(
    "line", ["a", "a b:c", "//a.example/", "a:", ":a", "Note: a", "1:2", "a\x00:b"]
)
def test_a_line_that_does_not_begin_with_a_uri_is_skipped(line):
    skipped, last = read(f"{line}\nx:y")
    assert (skipped.skip_reason, skipped.fields) == ("does not begin with a uri", {"uri": line})
    assert last.place == 2


@pytest.mark.parametrize("begin", ["data:,", "- [A](x:y) [](x:y)"])
def test_a_line_of_several_mebibytes_is_skipped(begin):
    large, last = read(begin + "x" * 3_000_000 + "\nx:y\n")
    assert last.fields["uri"] == "x:y"
    assert (large.place, large.skip_reason) == (1, "is larger than 1,048,576 characters")
    assert large.fields["uri"].startswith(begin)
