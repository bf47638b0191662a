"""Adding and editing in a real browser: completion of tags, the bookmarklet, conflicts."""

import pytest
from selenium.webdriver.common.keys import Keys


@pytest.fixture
def known(each_browser):
    """Return a browser of a service whose bookmarks have some tags."""
    for number, tags in enumerate([["python"], ["python", "pytest"], ["web"], ["Zope", "py"]]):
        each_browser.post(f"https://{number}.example/", tags=tags)
    return each_browser


def options(browser):
    """Wait for the completions; return their texts."""
    return [o.text.split()[0] for o in browser.wait(lambda: browser.all("[role=option]"))]


def tags_field(browser):
    return browser.find("#tags").get_property("value")


# --- Completion of tags ---


def test_the_first_completion_is_selected_and_enter_takes_it(known):
    known.open("/?uri=https://new.example/")
    known.find("#tags").send_keys("pyt")
    assert options(known) == ["python", "pytest"]
    selected = known.find("[aria-selected=true]")
    assert selected.text.split() == ["python", "2"]
    tags = known.find("#tags")
    assert tags.get_attribute("aria-activedescendant") == selected.get_attribute("id")
    assert tags.get_attribute("aria-expanded") == "true"
    known.press(Keys.ENTER)
    assert tags_field(known) == "python, "
    assert not known.find("[role=listbox]").is_displayed()
    assert tags.get_attribute("aria-expanded") == "false"
    known.press("ope")
    assert options(known) == ["Zope"]
    known.press(Keys.ENTER)
    assert known.stored("uri=https://new.example/") == []
    known.leave(lambda: known.press(Keys.ENTER))
    assert known.stored("uri=https://new.example/")[0]["tags"] == ["python", "Zope"]


def test_escape_keeps_the_typed_tag(known):
    known.open("/?uri=https://new.example/")
    known.find("#tags").send_keys("pyt")
    options(known)
    known.press(Keys.ESCAPE)
    assert not known.find("[role=listbox]").is_displayed()
    known.press(", zop")
    options(known)
    known.press(Keys.ESCAPE)
    known.leave(lambda: known.press(Keys.ENTER))
    assert known.stored("uri=https://new.example/")[0]["tags"] == ["pyt", "zop"]


def test_a_comma_and_the_tab_key_keep_the_typed_tag(known):
    known.open("/?uri=https://new.example/")
    known.find("#tags").send_keys("pyt")
    options(known)
    known.press(", we")
    assert options(known) == ["web"]
    known.press(Keys.TAB)
    assert tags_field(known) == "pyt, we"
    assert known.focused.get_attribute("id") == "description"


def test_a_tag_that_is_typed_whole_is_the_first_completion(known):
    known.open("/?uri=https://new.example/")
    known.find("#tags").send_keys("py")
    assert options(known) == ["py", "python", "pytest"]
    known.press(Keys.BACKSPACE, Keys.BACKSPACE, "zope")
    known.press(Keys.ENTER)
    assert tags_field(known) == "Zope, "


def test_other_completions_are_chosen_with_arrows_or_the_mouse(known):
    known.open("/?uri=https://new.example/")
    known.find("#tags").send_keys("py")
    assert options(known) == ["py", "python", "pytest"]
    known.press(Keys.ARROW_DOWN, Keys.ENTER, "py")
    assert options(known) == ["py", "pytest"]
    known.press(Keys.ARROW_UP, Keys.ENTER, "w")
    options(known)
    known.find("[role=option]").click()
    assert tags_field(known) == "python, pytest, web, "
    assert known.focused.get_attribute("id") == "tags"


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844), (320, 640)])
def test_the_completions_never_cover_the_save_button(browser, width, height):
    browser.command(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
        mobile=width < 400,
    )  # fmt: skip
    browser.post("https://a.example/", tags=[f"tag {n} " + "x" * n for n in range(99)])
    browser.open("/?uri=https://new.example/")
    # The user may make the description as small as the page allows.
    browser.driver.execute_script("document.querySelector('#description').style.height = 0")
    browser.find("#tags").send_keys("t")
    assert len(options(browser)) == 6
    completions, save = browser.find("[role=listbox]").rect, browser.find(".primary").rect
    assert completions["y"] + completions["height"] < save["y"]
    browser.leave(browser.find(".primary").click)
    assert browser.stored("uri=https://new.example/")[0]["tags"] == ["t"]


def test_the_tags_field_keeps_the_caret_when_it_gets_the_focus_again(each_browser):
    browser = each_browser
    id = browser.post("https://a.example/", tags=["first", "second"])["id"]
    browser.open(f"/{id}")
    browser.find("#title").click()
    browser.press(Keys.TAB, "third, ", *[Keys.ARROW_LEFT] * len("ird, "))
    field = "document.querySelector('#tags')"
    browser.driver.execute_script(f"{field}.blur(); {field}.focus()")
    browser.press("-")
    assert tags_field(browser) == "first, second, th-ird, "


def test_known_tags_are_completed_with_a_token(browser, serve):
    browser.address = serve(BOOKMARKS_TOKEN="secret").address
    browser.expect(401)
    browser.open("/?uri=")
    browser.fill(token="secret")
    browser.leave(lambda: browser.press(Keys.ENTER))
    browser.fill(uri="https://a.example/", tags="reading")
    browser.leave(browser.find(".editor .primary").click)
    browser.open("/?uri=")
    browser.find("#tags").send_keys("rea")
    browser.wait(lambda: "reading" in browser.find("[role=listbox]").text)
