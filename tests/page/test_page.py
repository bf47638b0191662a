"""The page in a real browser, used like a person uses it."""

import json
import urllib.request

import pytest
from samples import SAMPLES
from selenium.webdriver.common.keys import Keys


@pytest.fixture
def post(browser):
    """Return a function that adds or changes a bookmark without the browser."""
    return browser.post


# --- With and without JavaScript ---


def test_the_first_bookmark_can_be_added_on_the_start_page(either):
    either.open()
    assert "no bookmarks yet" in either.find("h1").text
    either.fill(uri="https://a.example/", title="A & B", tags="x, two words", description="1\n2")
    either.leave(either.find(".editor .primary").click)
    assert either.find("h1 a").text == "A & B"
    either.leave(either.find(".brand").click)
    assert either.titles() == ["A & B"]
    assert [a.text for a in either.all(".list .tags a")] == ["x", "two words"]
    (bookmark,) = either.stored()
    assert (bookmark["description"], bookmark["tags"]) == ("1\n2", ["x", "two words"])


def test_a_bookmark_can_be_added_on_the_list(either, post):
    post("https://a.example/")
    either.open()
    either.find("summary").click()
    either.fill(uri="https://b.example/", title="B")
    either.leave(either.find(".editor .primary").click)
    assert {b["uri"] for b in either.stored()} == {"https://a.example/", "https://b.example/"}


def test_tags_and_words_filter_the_list(either, filled):
    either.open()
    either.leave(either.find(".cloud a").click)
    assert len(either.titles()) == 4  # The most used tag stands first.
    either.leave(lambda: either.link("python").click())
    assert either.titles() == ["PEP 3333: Python Web Server Gateway Interface"]
    either.leave(either.all(".filter a")[0].click)
    assert len(either.titles()) == 2
    either.fill(q="MAILBOX")
    either.leave(either.find(".search button").click)
    assert either.titles() == ["cpython/Lib/mailbox.py"]
    either.leave(either.find(".filter a.q").click)
    either.leave(either.find(".filter a.tag").click)
    assert len(either.titles()) == len(SAMPLES)
    either.fill(q="nothing has this")
    either.leave(lambda: either.press(Keys.ENTER))
    assert either.titles() == [] and "No bookmark matches" in either.find(".nothing").text


def test_page_links_lead_through_the_list(either, filled):
    either.open("/?limit=5")
    seen = either.titles()
    assert either.find(".total").text == "1 to 5 of 12 bookmarks"
    for _ in range(2):
        either.leave(either.find("a[rel=next]").click)
        seen += either.titles()
    assert seen == [title for _, title, _, _ in SAMPLES]
    assert either.all("a[rel=next]") == []
    either.leave(either.link("First").click)
    assert either.titles() == seen[:5]


def test_a_bookmark_can_be_edited(either, post):
    id = post("https://a.example/", title="Old", tags=["x"])["id"]
    either.open()
    either.leave(either.find(".edit").click)
    either.fill(title="New", description="Changed")
    either.leave(either.find(".editor .primary").click)
    assert either.find("h1").text == "New"
    either.open()
    assert either.titles() == ["New"]
    assert [(b["id"], b["title"], b["tags"]) for b in either.stored()] == [(id, "New", ["x"])]


def test_an_error_is_beside_its_field_and_the_form_keeps_its_values(either, post):
    either.expect(422)
    either.open("/?uri=")
    either.fill(uri="no address", title="Title", tags="a, b", description="Text")
    either.leave(either.find(".editor .primary").click)
    assert either.find("#uri").get_attribute("aria-invalid") == "true"
    assert "absolute" in either.find("#uri-error").text
    assert "uri-error" in either.find("#uri").get_attribute("aria-describedby")
    assert either.focused == either.find("#uri")
    assert either.find("[role=alert]").is_displayed()
    typed = {name: either.find(f"#{name}").get_property("value") for name in ("title", "tags")}
    assert typed == {"title": "Title", "tags": "a, b"}
    either.fill(uri="https://a.example/")
    either.leave(either.find(".editor .primary").click)
    assert either.stored()[0]["description"] == "Text"


def test_a_conflict_shows_both_versions_and_saving_again_keeps_mine(either, post):
    id = post("https://a.example/", title="Old", description="Old text")["id"]
    either.expect(412)
    either.open(f"/{id}")
    either.fill(title="Mine")
    post("https://a.example/", f"/{id}", title="Theirs", description="Their text")
    either.leave(either.find(".editor .primary").click)
    assert either.find("#title").get_property("value") == "Mine"
    assert "Theirs" in either.find("#title-theirs").text
    assert "Their text" in either.find("#description-theirs").text
    assert either.all("#uri-theirs") == []
    assert either.stored()[0]["title"] == "Theirs"
    either.leave(either.find(".editor .primary").click)
    assert [(b["title"], b["description"]) for b in either.stored()] == [("Mine", "Old text")]


def test_the_saved_version_of_a_conflict_can_be_kept(either, post):
    id = post("https://a.example/", title="Old")["id"]
    either.expect(412)
    either.open(f"/{id}")
    either.fill(title="Mine")
    post("https://a.example/", f"/{id}", title="Theirs")
    either.leave(either.find(".editor .primary").click)
    either.leave(either.link("Keep the saved version").click)
    assert either.find("#title").get_property("value") == "Theirs"


def test_adding_an_existing_address_overwrites_nothing(either, post):
    post("https://a.example/", title="Old", tags=["x"], description="Text")
    either.expect(412)
    either.open("/?uri=")
    either.fill(uri="https://a.example/")
    either.leave(either.find(".editor .primary").click)
    assert "Text" in either.find("#description-theirs").text
    assert either.stored()[0]["description"] == "Text"


def test_a_bookmark_deleted_during_an_edit_can_be_saved_as_a_new_one(either, post):
    id = post("https://a.example/", title="Old")["id"]
    either.expect(410)
    either.open(f"/{id}")
    either.fill(title="Mine")
    address = f"{either.address}/{id}"
    urllib.request.urlopen(urllib.request.Request(address, method="DELETE"), timeout=10).close()
    either.leave(either.find(".editor .primary").click)
    either.leave(either.find(".editor .primary").click)
    (bookmark,) = either.stored()
    assert bookmark["title"] == "Mine" and bookmark["id"] != id


def test_the_bookmarklet_saves_the_page_of_another_site(each_browser, other_site):
    browser = each_browser
    browser.open()
    code = browser.find("#bookmarklet").get_attribute("href")
    browser.open(other_site)
    browser.driver.execute_script(
        "getSelection().selectAllChildren(document.querySelector('p'));"
        "eval(decodeURIComponent(arguments[0].replace('javascript:', '')))",
        code,
    )
    browser.driver.switch_to.window(browser.driver.window_handles[-1])
    browser.find("#uri")
    names = ("uri", "title", "description")
    values = [browser.find(f"#{name}").get_property("value") for name in names]
    assert values == [other_site, "A page & “more”", "Words said here."]
    browser.leave(browser.find(".editor .primary").click)
    assert browser.stored()[0]["uri"] == other_site
    browser.open(f"/?uri={other_site}&title=Other")
    assert browser.find("#title").get_property("value") == "A page & “more”"


@pytest.mark.parametrize(
    "query, field",
    [("uri=", "uri"), ("uri=x:y", "title"), ("uri=x:y&title=T&description=D", "tags")],
)
def test_the_first_empty_field_of_a_new_bookmark_has_the_focus(either, query, field):
    either.open(f"/?{query}")
    either.wait(lambda: either.focused == either.find(f"#{field}"))


def test_a_file_can_be_imported(either, tmp_path):
    file = tmp_path / "bookmarks.json"
    file.write_text(json.dumps([{"uri": f"https://{n}.example/", "title": n} for n in "ab"]))
    either.open()
    either.find("#file").send_keys(str(file))
    either.leave(either.find(".import button").click)
    assert either.find("main").text.startswith("Imported\n2 created, 0 updated")
    either.leave(either.find(".brand").click)
    assert sorted(either.titles()) == ["a", "b"]


def test_everything_works_with_the_token_as_password(either, serve):
    either.address = serve(BOOKMARKS_TOKEN="secret").address
    home = either.address.replace("//", "//anybody:secret@") + "/"
    either.open(home)
    for letter in "abc":
        either.fill(uri=f"https://{letter}.example/", tags="reading")
        either.leave(either.find(".editor .primary").click)
        assert either.find("h1").text == f"https://{letter}.example/"
        either.leave(either.find("#add").click)
    for link, button in [(".brand", ".list button"), (".edit", ".delete button")]:
        either.open(home)
        either.leave(either.find(link).click)
        before = len(either.stored(Authorization="Bearer secret"))
        shorten_timeouts(either)
        either.find(button).click()
        either.press(Keys.TAB)
        either.wait(lambda: len(either.stored(Authorization="Bearer secret")) == before - 1)
        either.wait(lambda: len(either.titles()) == before - 1)


def test_deleting_works_without_javascript(browser, filled):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    browser.open()
    browser.leave(browser.all(".list button")[1].click)
    assert SAMPLES[1][1] not in browser.titles()
    assert len(browser.stored()) == len(SAMPLES) - 1
    browser.leave(browser.find(".edit").click)
    browser.leave(browser.find(".delete button").click)
    assert len(browser.stored()) == len(SAMPLES) - 2


# --- With JavaScript ---


def test_a_saved_form_shows_saved_once(browser, post):
    id = post("https://a.example/")["id"]
    browser.open(f"/{id}")
    assert browser.all(".saved") == []
    browser.leave(browser.find(".editor .primary").click)
    browser.wait(lambda: browser.find(".saved[role=status]").text == "Saved.")
    browser.leave(browser.find(".brand").click)
    browser.leave(browser.driver.back)
    assert browser.find(".meta") and browser.all(".saved") == []
    browser.leave(browser.driver.refresh)
    assert browser.all(".saved") == []
    browser.open(f"/{id}")
    assert browser.all(".saved") == []


def test_a_form_that_was_not_saved_does_not_show_saved(browser, post):
    id, other = (post(f"https://{letter}.example/")["id"] for letter in "ab")
    browser.open(f"/{id}")
    browser.driver.execute_script(
        "addEventListener('submit', event => event.preventDefault(), { once: true })"
    )
    browser.find(".editor .primary").click()
    browser.open(f"/{other}")
    assert browser.find(".meta") and browser.all(".saved") == []
    browser.expect(422)
    browser.fill(uri="none")
    browser.leave(browser.find(".editor .primary").click)
    browser.leave(browser.driver.back)
    assert browser.find(".meta") and browser.all(".saved") == []


def test_a_deletion_can_be_undone(browser, filled):
    browser.open()
    browser.find(".list button").click()
    assert SAMPLES[0][1] not in browser.titles()
    assert browser.focused.text == "Undo"
    browser.focused.click()
    assert browser.titles()[0] == SAMPLES[0][1]
    assert len(browser.stored()) == len(SAMPLES)


def test_a_double_click_deletes_one_bookmark(browser, post):
    for lines in range(1, 5):
        post(f"https://short-{lines}.example/")
        post(f"https://long-{lines}.example/", description="word " * 20 * lines)
    browser.open()
    for lines in range(4, 0, -1):
        browser.double_click(browser.all(".list .actions button")[8 - 2 * lines])
    assert browser.titles() == [f"https://short-{lines}.example/" for lines in range(4, 0, -1)]
    browser.open()
    browser.wait(lambda: len(browser.stored()) == 4)


def test_undo_returns_the_focus_to_the_delete_button(browser, post):
    id = post("javascript:alert(1)")["id"]
    for path in ("/", f"/{id}"):
        browser.open(path)
        browser.driver.execute_script("document.querySelector('main button:not(.primary)').focus()")
        browser.press(Keys.ENTER)
        assert browser.focused.text == "Undo"
        browser.press(Keys.ENTER)
        assert browser.focused.text == "Delete"
    assert len(browser.stored()) == 1


def test_after_a_deletion_the_next_bookmark_has_the_focus(browser, filled):
    browser.open()
    shorten_timeouts(browser)
    browser.find(".list button").click()
    browser.wait(lambda: len(browser.all(".list > li")) == len(SAMPLES) - 1)
    assert browser.focused.text == SAMPLES[1][1]
    # In a bookmark that is being deleted only Undo can have the focus.
    browser.open()
    browser.all(".list .actions button")[1].click()
    browser.find(".undo")
    browser.press("j", "j")
    assert browser.focused.text == "Undo"
    browser.press("k", "j", Keys.ENTER)
    assert browser.titles()[1] == SAMPLES[2][1]


def test_a_screen_reader_announces_a_deletion(browser, filled):
    browser.open()
    button = browser.find(".list button")
    assert button.accessible_name == f"Delete {SAMPLES[0][1]}"
    assert browser.find(".edit").accessible_name == f"Edit {SAMPLES[0][1]}"
    # A screen reader announces a text that is added to an existing status, not a new status.
    browser.driver.execute_script(
        "const find = (selector) => document.querySelector(selector);"
        "new MutationObserver(() => { window.first ??= find('.undo p').textContent; })"
        ".observe(find('.list'), { childList: true, subtree: true });"
    )
    button.click()
    browser.wait(lambda: browser.find(".undo [role=status]").text == f"Deleted: {SAMPLES[0][1]}")
    assert browser.driver.execute_script("return first") == ""
    browser.find(".undo button").click()


def test_leaving_the_page_completes_a_deletion(browser, filled):
    browser.open()
    browser.find(".list button").click()
    browser.find(".undo")
    browser.leave(browser.find(".brand").click)
    browser.wait(lambda: len(browser.stored()) == len(SAMPLES) - 1)


@pytest.mark.parametrize("way", ["link", "form"])
def test_the_next_page_does_not_show_the_deleted_bookmark(browser, filled, way):
    browser.open("/?q=e")
    title = browser.titles()[0]
    browser.find(".list button").click()
    browser.find(".undo")
    acts = {
        "link": lambda: browser.find(".brand").click(),
        "form": lambda: browser.find("#q").send_keys(Keys.ENTER),
    }
    browser.leave(acts[way])
    assert len(browser.stored()) == len(SAMPLES) - 1
    assert title not in browser.titles()


def test_a_deletion_can_be_undone_after_a_jump_on_the_same_page(browser, filled):
    browser.open()
    browser.find(".list button").click()
    browser.driver.execute_script("document.querySelector('a[href^=\"#\"]').click()")
    browser.find(".undo button").click()
    assert len(browser.stored()) == len(SAMPLES)


def test_a_deletion_is_completed_after_the_timeout(browser, filled):
    browser.open()
    browser.find(".list button").click()
    assert browser.find(".undo").is_displayed()
    shorten_timeouts(browser)
    browser.fill(q="")  # The timeout starts again when Undo loses the focus.
    browser.wait(lambda: len(browser.all(".list > li")) == len(SAMPLES) - 1)
    assert browser.find(".total").text == "11 bookmarks"
    assert len(browser.stored()) == len(SAMPLES) - 1


def test_deleting_a_bookmark_that_has_changed_shows_an_error(browser, post):
    id = post("https://a.example/", title="Old")["id"]
    browser.expect(412)
    browser.open()
    post("https://a.example/", f"/{id}", title="New")
    shorten_timeouts(browser)
    browser.find(".list button").click()
    browser.fill(q="")
    assert "changed" in browser.find(".list [role=alert]").text
    assert browser.titles() == ["Old"] and len(browser.stored()) == 1
    browser.find(".list button").click()
    browser.wait(lambda: browser.titles() and browser.find(".list [role=alert]"))
    assert browser.focused.text == "Delete"
    browser.find(".list button").click()
    browser.fill(q="")
    browser.wait(lambda: not browser.all(".undo"))
    assert len(browser.all(".list [role=alert]")) == 1
    browser.leave(browser.find(".list [role=alert] a").click)
    assert browser.find("#title").get_attribute("value") == "New"


def test_deleting_the_open_bookmark_leads_to_the_list(browser, post):
    id = post("https://a.example/", title="Old")["id"]
    browser.open(f"/{id}")
    shorten_timeouts(browser)
    # Send the key at once: the page may be left before a later key reaches it.
    browser.leave(lambda: (browser.find(".delete button").click(), browser.press(Keys.TAB)))
    assert browser.driver.current_url == browser.address + "/"
    assert browser.stored() == []


def test_back_does_not_show_an_undo_without_effect(browser, post):
    ids = [post(f"https://{letter}.example/")["id"] for letter in "ab"]
    browser.open()
    browser.open(f"/{ids[0]}")
    shorten_timeouts(browser)
    browser.leave(lambda: (browser.find(".delete button").click(), browser.press(Keys.TAB)))
    browser.leave(browser.driver.back)
    assert browser.driver.current_url == browser.address + "/"
    browser.expect(410)
    browser.open(f"/{ids[1]}")
    browser.find(".delete button").click()
    browser.leave(browser.find(".brand").click)
    browser.driver.back()
    browser.wait(lambda: "was deleted" in browser.find("h1").text)


def shorten_timeouts(browser):
    """Make all timeouts of the page's script 40 times shorter."""
    browser.driver.execute_script(
        "const wait = setTimeout; window.setTimeout = (act, ms) => wait(act, ms / 40);"
    )


def test_everything_can_be_done_by_keyboard(browser, filled):
    browser.open()
    browser.leave(lambda: browser.press("/", "sqlite", Keys.ENTER))
    assert len(browser.titles()) == 1
    browser.press("j")
    assert browser.focused.text == SAMPLES[1][1]
    browser.leave(lambda: browser.press("e"))
    browser.leave(lambda: browser.find("#title").send_keys(Keys.END, "!", Keys.ENTER))
    assert browser.find("h1").text == SAMPLES[1][1] + "!"
    browser.leave(lambda: browser.press("a"))
    assert browser.find("h1").text == "Add a bookmark"
    browser.open()
    browser.press("j", "j", "k", "j")
    assert browser.focused.text == SAMPLES[1][1] + "!"
    browser.press("a", "https://typed.example/", Keys.ENTER)
    browser.wait(lambda: browser.find("h1").text == "https://typed.example/")
    browser.wait(browser.is_loaded)
    assert browser.focused.tag_name == "body"
    browser.press(Keys.TAB)
    assert browser.focused.text == "Skip to the content"


def test_a_single_key_discards_neither_a_deletion_nor_typed_text(browser, post):
    id = post("https://a.example/")["id"]
    browser.open()
    browser.press("j")
    browser.find(".list button").click()
    browser.find(".undo")
    browser.press("e")
    browser.find(".undo button").click()
    browser.expect(422)
    browser.open(f"/{id}")
    browser.fill(uri="typed")
    blur = "document.activeElement.blur()"
    browser.driver.execute_script(blur)
    browser.press("a")
    browser.leave(browser.find(".editor .primary").click)
    browser.driver.execute_script(blur)
    browser.press("a")
    assert browser.find("#uri").get_property("value") == "typed"
    browser.open(f"/{id}")
    browser.leave(lambda: browser.press("a"))
    assert browser.find("h1").text == "Add a bookmark"


def test_single_keys_can_be_turned_off(browser, filled):
    browser.open()
    browser.find(".keys button").click()
    browser.press("j")
    assert browser.all(".current") == []
    browser.find(".keys button").click()
    browser.press("j")
    assert len(browser.all(".current")) == 1


# --- Appearance ---


def test_the_dark_color_scheme_has_a_dark_background(browser, filled):
    colors = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.command("Emulation.setEmulatedMedia", media="", features=[feature])
        browser.open()
        color = browser.find("body").value_of_css_property("background-color")
        colors.append(sum(int(part) for part in color[5:-1].split(",")[:3]))
    assert colors[0] > 600 and colors[1] < 150


LONG = [
    {"uri": "https://a.example/" + "x" * 60_000, "title": "word " * 800, "tags": ["t" * 255]},
    {"uri": "data:text/html," + "x" * 60_000, "title": "x" * 4_000, "description": "y" * 65_000},
    {"uri": "https://b.example/", "title": "שלום עולם", "tags": ["עברית"], "description": "שלום"},
]


@pytest.mark.parametrize("width", [320, 360, 2560])
def test_no_page_is_wider_than_the_screen(browser, post, width):
    browser.command(
        "Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1,
        mobile=width < 400,
    )  # fmt: skip
    browser.open()
    paths = ["/", "/?q=nothing", "/?uri=", "/?tag=" + "t" * 255]
    require_narrow(browser, width)
    paths += [f"/{post(**bookmark)['id']}" for bookmark in LONG]
    for path in paths:
        browser.open(path)
        require_narrow(browser, width)
    browser.open()
    assert len(browser.titles()) == len(LONG)
    assert all(item.size["height"] < 700 for item in browser.all(".list > li"))


def require_narrow(browser, width):
    script = "return document.documentElement.scrollWidth"
    assert browser.driver.execute_script(script) <= width


def test_print_shows_no_controls(browser, filled):
    browser.command("Emulation.setEmulatedMedia", media="print")
    browser.open()
    assert len(browser.titles()) == len(SAMPLES)
    hidden = browser.all(".top, aside, .list button, .edit")
    assert hidden and not any(element.is_displayed() for element in hidden)
    browser.open(f"/{browser.stored()[0]['id']}")
    hidden = browser.all(".top, button, .hint")
    assert hidden and not any(element.is_displayed() for element in hidden)
    fields = browser.all(".editor, .editor input:not([type=hidden]), .editor textarea")
    assert [field.value_of_css_property("border-top-width") for field in fields] == ["0px"] * 5
