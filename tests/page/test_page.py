"""The page in a real browser, used like a person uses it."""

import json

import pytest
from samples import SAMPLES
from selenium.webdriver.common.keys import Keys

# --- With and without JavaScript ---


def test_the_first_bookmark_can_be_added_on_the_start_page(either):
    either.open()
    assert "no bookmarks yet" in either.find("h1").text
    either.fill(first="https://a.example/")
    either.leave(either.find(".first button").click)
    either.fill(title="A & B", tags="x, two words", description="1\n2")
    either.leave(either.find(".editor .primary").click)
    assert either.titles() == ["A & B"]
    assert [a.text for a in either.all(".list .tags a")] == ["x", "two words"]
    (bookmark,) = either.stored()
    assert (bookmark["description"], bookmark["tags"]) == ("1\n2", ["x", "two words"])


@pytest.mark.parametrize(
    "query, field",
    [("uri=", "uri"), ("uri=x:y", "title"), ("uri=x:y&title=T&description=D", "tags")],
)
def test_the_first_empty_field_of_a_new_bookmark_has_the_focus(either, query, field):
    either.open(f"/-/add?{query}")
    either.wait(lambda: either.focused == either.find(f"#{field}"))


def test_a_file_can_be_imported(either, tmp_path):
    file = tmp_path / "bookmarks.json"
    file.write_text(json.dumps([{"uri": f"https://{n}.example/", "title": n} for n in "ab"]))
    either.open("/-/tools")
    either.find("#file").send_keys(str(file))
    either.leave(either.find(".import button").click)
    assert either.find("main").text.startswith("Imported\n2 added\n")
    either.leave(either.find(".brand").click)
    assert sorted(either.titles()) == ["a", "b"]


# --- With JavaScript ---

def test_everything_can_be_done_by_keyboard(browser, filled):
    browser.open()
    browser.leave(lambda: browser.press("/", "sqlite", Keys.ENTER))
    assert len(browser.titles()) == 1
    browser.press("j")
    assert browser.focused.text == SAMPLES[1][1]
    browser.press(Keys.TAB, Keys.TAB)  # Past "Mark as unread".
    assert browser.focused.text == "Edit"
    browser.leave(lambda: browser.press(Keys.ENTER))
    browser.wait(lambda: browser.focused == browser.find("#title"))
    browser.leave(lambda: browser.press(Keys.END, "!", Keys.ENTER))
    assert browser.titles() == [SAMPLES[1][1] + "!"]
    browser.leave(browser.find(".brand").click)
    browser.press("j", "j", "k", "j")
    assert browser.focused.text == SAMPLES[1][1] + "!"
    browser.leave(lambda: browser.press("a"))
    assert browser.find("h1").text == "Add a bookmark"
    browser.leave(lambda: browser.press("https://typed.example/", Keys.ENTER))
    browser.wait(lambda: browser.titles()[:1] == ["https://typed.example/"])
    # The next element after the saved bookmark's title, where the user left the list.
    browser.press(Keys.TAB, Keys.TAB)
    assert browser.focused.text == "https://typed.example/"


def test_single_keys_can_be_turned_off(browser, filled):
    browser.open()
    for count in (0, 1):
        browser.find("#more ~ p button").click()
        browser.find(".keys input").click()
        browser.find(".keys button").click()
        browser.driver.execute_script("document.activeElement.blur()")
        browser.press("j")
        assert len(browser.all(".current")) == count


def test_keys_delete_turn_pages_and_show_themselves(browser, filled):
    browser.open("/?limit=5")
    titles = browser.titles()
    browser.press("j", "j", "d")
    browser.wait(lambda: browser.titles()[:4] == [titles[0], *titles[2:]])
    browser.leave(lambda: browser.press("n"))
    browser.leave(lambda: browser.press("p"))
    browser.press("?")
    assert "next bookmark" in browser.find("dialog").text


def test_j_goes_on_from_the_saved_bookmark(browser, filled):
    browser.open()
    titles = browser.titles()
    browser.press("j", "j", "j")
    browser.leave(lambda: browser.press("e"))
    browser.leave(browser.find(".editor .primary").click)
    browser.press("j")
    assert browser.focused.text == titles[3]


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


def test_a_download_is_saved_under_its_name(browser, filled, tmp_path):
    folder = str(tmp_path)
    browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
    browser.open("/-/tools")
    browser.link("All fields (JSON)").click()
    browser.wait((tmp_path / "bookmarks.json").exists)
    assert browser.find("h1").text == "Tools"
    browser.command("Browser.setDownloadBehavior", behavior="default")


LONG = [
    {"uri": "https://a.example/" + "x" * 60_000, "title": "word " * 800, "tags": ["t" * 255]},
    {"uri": "data:text/html," + "x" * 60_000, "title": "x" * 4_000, "description": "y" * 65_000},
    {"uri": "https://b.example/", "title": "שלום עולם", "tags": ["עברית"], "description": "שלום"},
]


@pytest.mark.parametrize("width", [320, 360, 2560])
def test_no_page_is_wider_than_the_screen(browser, width):
    browser.use_screen(width, 700)
    paths = ["/", "/?q=nothing", "/-/add?uri=", "/?tag=" + "t" * 255]
    require_narrow(browser, width)
    paths += [f"/{browser.post(**bookmark)['id']}" for bookmark in LONG]
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
    browser.post("https://a.example/", title="שלום עולם")
    browser.open()
    style = "const link = document.querySelector('.list [href=\"https://a.example/\"]');"
    style += "const after = getComputedStyle(link, '::after');"
    style += "return [after.content, after.direction, after.unicodeBidi].join()"
    printed = browser.driver.execute_script(style)
    assert "https://a.example/" in printed and printed.endswith(",ltr,isolate")
    hidden = browser.all(".top, aside, .actions")
    assert hidden and not any(element.is_displayed() for element in hidden)
    browser.open(f"/{browser.stored()[0]['id']}")
    hidden = browser.all(".top, button, .hint")
    assert hidden and not any(element.is_displayed() for element in hidden)
    fields = browser.all(".editor, .field > input, .editor textarea")
    assert [field.value_of_css_property("border-top-width") for field in fields] == ["0px"] * 5
