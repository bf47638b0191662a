"""The parameter q: the grammar of search expressions, and the folding of texts."""

import random
import time
import unicodedata

import pytest

from storage.bookmark import clean, normalize
from storage.search import MAX_TERMS, fold_text, normalize_and_fold_tag, parse_search, words_to_mark

TITLES = {
    "a": {"title": "Rust and Python", "tags": ["Programming", "unread"]},
    "b": {"title": "Python or Ruby", "description": "As we may think", "tags": ["programming"]},
    "c": {"title": "A trip to Zürich", "tags": ["Travel", "New Zealand"]},
    "d": {"title": "C# e-mail 'quoted' back\\slash #hash !bang -dash", "tags": ["Zürich"]},
    "e": {"title": "Not python-like (in brackets) :-)", "description": "one\ntwo three"},
}


EXPRESSIONS = [
    # A word or phrase must occur in title, description, uri or a tag.
    ("think", "b"), ("x:c", "c"), ("ravel", "c"),
    ("rust x:b0", ""), ('"we may think"', "b"), ('"may we"', ""),
    ('"think programming"', ""), ('"one two three"', "e"), ('"new zealand"', "c"),
    ('"rust"and', ""), ('"rust"python', "a"),
    # and, or, not, - and parentheses
    ("rust or ruby and nothing", "a"), ("(rust or ruby) and nothing", ""),
    ("programming(rust or ruby)", "ab"), ("python and not rust and not ruby", "e"),
    ("-(not (rust or trip) (python or zurich)) -(ruby and -rust)", "ac"),
    ("not rust ruby", "b"), ('-"as we may"', "acde"), (" \t ", "abcde"), ('""', "abcde"),
    # Operators are recognized in any case, and only as whole words.
    ("rust OR zurich", "acd"), ("NoT rust oR rust", "abcde"), ("android", ""), ('"or"', "b"),
    # #, - and ! count only at the beginning of a term, and followed by something.
    ("c#", "d"), ("#", "d"), ("-", "de"), ("!", "d"), ("e-mail", "d"), ("'quoted'", "d"),
    ("back\\slash", "d"), ('"#hash"', "d"), ('"-dash"', "d"),
    # tags
    ("#PROGRAMMING", "ab"), ("#program", ""), ("#new zealand", ""),
    ('#" New Zealand "', "c"), ("#Zu\u0308rich", "d"), ("#zurich", ""),
    ('-#"new zealand" -#programming', "de"), ("(#programming or #travel) python", "ab"),
    # keywords
    ("-!UNTAGGED", "abcd"), ("!untagged or !unread", "ae"),
    # case and accents
    ("zu\u0308rich", "cd"), ("pýthön", "abe"),
    # What cannot be parsed is searched for as plain words: an operator without operand,
    ("python or", "b"), ("and rust", "a"), ("not", "e"), ("rust and and python", "a"),
    ("not not python-like", "e"), ("--dash", ""),
    # an unbalanced parenthesis, an open quote, an unknown keyword.
    ("(rust", "a"), (":-)", "e"), ("()", ""), ('"as we may', "b"), ('#"new zealand', ""),
    ("!bang", "d"), ("!archived rust", ""),
]  # fmt: skip


def test_an_expression_selects_bookmarks(find):
    bookmarks = [{"uri": f"x:{name}0", **fields} for name, fields in TITLES.items()]
    for q, names in EXPRESSIONS:
        assert find(q, *bookmarks) == ["abcde".index(name) for name in names], q


@pytest.fixture
def find(app, add):
    """Return a function that adds bookmarks at first, and returns which of them a search finds."""
    places = {}

    def find(q, *bookmarks):
        if not places:
            for place, fields in enumerate(bookmarks):
                places[add(**{"uri": f"x:{place}", "title": "-", **fields})["id"]] = place
        found = app.get("/", {"q": q}, status=200).json
        return sorted(places[bookmark["id"]] for bookmark in found)

    return find


@pytest.mark.parametrize("q, title", [
    ("don't", "Why you don’t need it"),
    ("don’t", "Why you don't need it"),
    ("“as we” may", "As we may think"),
    ('"say hello" now', "He did „say hello“ and now"),
    ("«as we may»", "As we may think"),
    ('"may"', "As we “may” think"),
    ("e-mail", "An e‑mail client"),
    ("1990–2000", "Games of 1990-2000"),
    ("hyphenation", "Hy\u00adphen\u00ada\u00adtion"),
    ("zero\u200bwidth", "Zerowidth"),
    ("lodz", "Łódź"),
    ("oresund", "Øresund"),
    ("strasse", "Straße"),
    ("aero oeuvre is", "Ærø œuvre ıŞ"),
    ("soren dorde thor həl", "Søren Đorđe Þór Ħəl"),
    ("istanbul", "İstanbul"),
    ("fi 1 dz", "ﬁ ① Ǆ"),
    ("‘a’ `d` 'e'", "'a' `d` ʼe′"),
    ("a-b-c-d", "a‒b―c－d"),
    ("abcdef", "a\u2060b\u200ec\u202ad\u200def"),
    ("softhyphen ❤", "soft\u00adhy\u200bphen\ufeff ❤\ufe0f"),
])  # fmt: skip
def test_typography_hides_nothing(find, q, title):
    assert find(q, {"title": title}, {"title": "Another"}) == [0]


def test_a_uri_is_found_as_written_and_percent_decoded(app, add):
    add("https://a.example/wiki/Z%C3%BCrich_(Stadt)")
    add("https://a.example/caf%E9?%ff=100%")
    for q in ("zurich", "Z%C3%BCrich", "zürich_(stadt)", '"wiki/zurich"', "%FF", "caf%E9", "100%"):
        assert len(app.get("/", {"q": q}, status=200).json) == 1


SITES = [
    ("SITE:Example.ORG", [0, 1, 2, 3]),
    ("site:www.example.org", [1]),
    ("site:example.org:8080", [2]), ("site:ample.org", []), ("site:zürich.example", [4]),
    ("site:[::1]", [5]), ("site:example.com", []), ("site:host", [7]),
    # These have no host behind the colon, so they are words.
    ("site:", [6, 7]), ("site:a/b", [7]), ("site:.org", [6]),
    ('"site:host"', [7]), ("website:example.org", []),
]  # fmt: skip


def test_site_selects_a_host_and_those_below_it(find):
    uris = [
        "https://example.org/", "HTTP://WWW.Example.org", "http://user:word@example.org:8080/x",
        "ftp://ftp.example.org/?http://example.com/", "https://Zürich.example/",
        "http://[::1]:8080/", "mailto:x@example.com?subject=http://example.com/site:.org",
        "https://host/site:host/site:a/b",
    ]  # fmt: skip
    for q, places in SITES:
        assert find(q, *({"uri": uri} for uri in uris)) == places, q


DAYS = [
    ("after:2024-03-01", [2, 3]),
    ("before:2024-03-01", [0, 1, 4]),
    ("AFTER:2024-03 Before:2024-04", [2]),
    ("after:2024", [1, 2, 3]), ("-after:2024", [0, 4]), ("after:2024-02-30", [4]),
    ("after:2024-13", []), ("after:2024-3", [4]), ("after:0000", []),
    ("after:", [4]), ("after:20240301", []),
]  # fmt: skip


def test_after_and_before_select_by_the_day_of_creation(find):
    times = [
        "2023-12-31T23:59:59Z", "2024-02-29T23:59:59Z", "2024-03-01T00:00:00Z",
        "2024-04-01T00:00:00Z",
    ]  # fmt: skip
    bookmarks = [{"created": time} for time in times]
    words = {"created": "2000-01-01T00:00:00Z", "title": "after:2024-02-30 after:2024-3"}
    for q, places in DAYS:
        assert find(q, *bookmarks, words) == places, q


PARENTHESES = [
    ("#f(x)", [0]), ("#f(g(x))", [1]),
    ("(#f(x) or #f(g(x))) -#b", [0, 1]),
    ("foo_(bar)", [2]), ("(foo_(bar))", [2]), ("foo_(bar)baz", []),
    ("-foo_(bar)", [0, 1]), ("foo_(bar or nothing)", [2]), ("not(foo_ or f(g)", []),
    ("not(foo)", [0, 1]), ("f()", []),
]  # fmt: skip


def test_a_parenthesis_directly_behind_a_word_or_tag_belongs_to_it(find):
    bookmarks = [{"tags": ["f(x)"]}, {"tags": ["f(g(x))"]}, {"title": "Foo_(bar) bar"}]
    for q, places in PARENTHESES:
        assert find(q, *bookmarks) == places, q


def test_the_feed_the_page_an_export_and_a_change_of_tags_find_the_same(app, add):
    add("https://a.example/", created="2024-01-01T00:00:00Z", tags=["old"])
    add("https://b.example/", tags=["old"])
    q = "site:a.example before:2025"
    for path, headers in (("/", {"Accept": "text/html"}), ("/feed", {}), ("/?format=csv", {})):
        text = app.get(path, {"q": q}, headers=headers, status=200).text
        assert "//a.example" in text and "//b.example" not in text
    assert len(app.get("/?q=site:a.example&q=before:2025", status=200).json) == 1
    report = app.post_json("/tags", {"q": q, "remove": "old"}, status=200).json
    assert report["changed"] == 1
    linkding = app.get("/api/bookmarks/", {"q": q}, status=200).json
    assert [result["url"] for result in linkding["results"]] == ["https://a.example/"]


@pytest.mark.parametrize("term", ["-a", "#a", "!unread", '"a b"', "(a)", "a or", "("])
def test_only_a_search_of_more_than_100_terms_fails(app, term):
    for path in ("/", "/feed"):
        app.get(path, {"q": " ".join([term] * (MAX_TERMS - 1)) + " a"}, status=200)
        problem = app.get(path, {"q": " ".join([term] * MAX_TERMS) + " a"}, status=400)
        assert "at most 100 words, phrases and tags" in problem.json["detail"]
        nested = "-(" * 1_300 + "a" + ")" * 1_300
        app.get(path, {"q": nested}, status=200)


def test_the_order_of_matches_is_that_of_the_list(app, add):
    for n in range(30):
        add(f"x:{n}", title="abc"[n % 3], tags=["even"] * (n % 2 == 0))
    found = app.get("/", {"q": "c or (b #even) or -!untagged"}, status=200).json
    listed = app.get("/", status=200).json
    assert found == [b for b in listed if b["title"] == "c" or b["tags"]]


# --- Folding ---

def test_each_character_is_folded_by_itself_and_only_once():
    characters = [chr(n) for n in range(0x110000) if unicodedata.category(chr(n))[0] in "LMNPSZ"]
    chance = random.Random(1)
    for start in range(0, len(characters) - 500, 5_000):
        text = "".join(chance.sample(characters[start : start + 5_000], 500))
        folded = fold_text(text)
        assert folded == "".join(map(fold_text, text))
        assert folded == fold_text(folded) == fold_text(unicodedata.normalize("NFC", text))
        assert not any(map(unicodedata.combining, folded))


def test_long_runs_of_marks_are_normalized_as_unicode_defines():
    marks = [chr(c) for c in range(0x30000) if unicodedata.combining(chr(c))]
    marks.append("\u0f73")  # It is none, but becomes some: a vowel sign.
    chance = random.Random(1)
    for _ in range(50):
        text = "".join(chance.choices([*marks, "a", "é", "가", "ﬁ", "☃", " "], k=2_100))
        assert normalize(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    "text", ["\u0316\u0301" * 50_000, "\u0f73\u0316" * 50_000], ids=["marks", "vowel signs"]
)
def test_normalizing_takes_time_in_proportion_to_the_length(text):
    start = time.process_time()
    fold_text(text)
    normalize_and_fold_tag(text)
    clean({"description": text[:40_000]})
    assert time.process_time() - start < 4  # unicodedata alone takes more than 30 seconds.


@pytest.mark.parametrize("q, words", [
    ('"As we" Zürich', ["as we", "zurich"]),
    ("rust -css not html", ["rust"]),
    ("-(css or -rust) python", ["rust", "python"]),
    ("#tag !unread rust", ["rust"]),
    ("(rust or", ["rust", "or"]),
    ('""', []),
])  # fmt: skip
def test_the_words_to_mark_are_those_that_must_occur(q, words):
    assert words_to_mark(parse_search(q)) == words


@pytest.mark.parametrize("q, html", [
    ("don't", "Why <mark>don’t</mark> hy\u00adphens end “it”?"),
    ("hyphens", "Why don’t <mark>hy\u00adphens</mark> end “it”?"),
    ("café", "/<mark>caf%C3%A9%20</mark>x%2Fy</a>"),
    ('"cafe x/y"', "/<mark>caf%C3%A9%20x%2Fy</mark></a>"),
    ("%2F", "x<mark>%2F</mark>y</a>"),
])  # fmt: skip
def test_the_page_marks_matches_that_typography_would_hide(app, add, q, html):
    add(title="Why don’t hy\u00adphens end “it”?")
    add("https://a.example/caf%C3%A9%20x%2Fy")
    assert html in app.get("/", {"q": q}, headers={"Accept": "text/html"}, status=200).text
