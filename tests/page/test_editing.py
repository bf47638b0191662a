"""Adding and editing in a real browser: completion of tags, the bookmarklet, conflicts."""

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

OFFLINE = ".*(ERR_INTERNET_DISCONNECTED|icon from the Manifest)"


@pytest.fixture
def known(each):
    for number, tags in enumerate([["python"], ["python", "pytest"], ["web"], ["Zope", "py"]]):
        each.post(f"https://{number}.example/", tags=tags)
    return each


def options(browser):
    return [o.text.split()[0] for o in browser.wait(lambda: browser.all("[role=option]"))]


def tags_field(browser):
    return browser.find("#tags").get_property("value")


def value(browser, id):
    return browser.find(f"#{id}").get_property("value")


# --- The bookmarklet ---

def click_bookmarklet(browser, page, *, selected="p"):
    """Open the page of another site, select a part of it, and run the bookmarklet there."""
    browser.open("/-/tools")
    code = browser.find("#bookmarklet").get_attribute("href")
    browser.open(page)
    browser.driver.execute_script(
        "const part = document.querySelector(arguments[1]);"
        "if (part) getSelection().selectAllChildren(part);"
        "eval(decodeURIComponent(arguments[0].replace('javascript:', '')))",
        code,
        selected,
    )
    browser.wait(lambda: len(browser.driver.window_handles) == 2)
    browser.driver.switch_to.window(browser.driver.window_handles[-1])
    browser.find("#uri")
    browser.wait(browser.is_loaded)


def require_closed(browser):
    browser.wait(lambda: len(browser.driver.window_handles) == 1)
    browser.driver.switch_to.window(browser.driver.window_handles[0])


def test_saving_a_page_with_the_bookmarklet_takes_three_actions(known, other_site):
    actions = (
        lambda: click_bookmarklet(known, other_site),
        lambda: known.press("pyt", Keys.ENTER),
        lambda: known.find("main .primary").click(),
    )
    for act in actions:
        act()
    require_closed(known)
    (bookmark,) = known.stored(f"uri={other_site}")
    assert (bookmark["title"], bookmark["tags"]) == ("A page & “more”", ["python"])
    assert bookmark["description"] == "Words said here."
    assert known.driver.current_url == other_site


def test_the_bookmarklet_opens_a_saved_page_and_adds_tags_and_text(known, other_site):
    id = known.post(other_site, title="Mine", tags=["old"], created="2024-05-06T07:08:09Z")["id"]
    click_bookmarklet(known, other_site)
    assert known.find(".notice").text.startswith("Saved 6 May 2024.")
    assert value(known, "title") == "Mine" and value(known, "description") == ""
    known.wait(lambda: known.focused == known.find("#tags"))
    known.press("ope", Keys.ENTER)
    assert tags_field(known) == "old, Zope, "
    assert known.stored(f"uri={other_site}")[0]["tags"] == ["old"]
    quote = known.find("[name=_quote]")
    known.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", quote)
    quote.click()
    known.find("main .primary").click()
    require_closed(known)
    (bookmark,) = known.stored(f"uri={other_site}")
    assert (bookmark["id"], bookmark["tags"]) == (id, ["old", "Zope"])
    assert bookmark["description"] == "Words said here."


def test_a_page_without_a_selection_gets_no_description(known, other_site):
    click_bookmarklet(known, other_site, selected="none")
    known.wait(lambda: known.focused == known.find("#tags"))
    assert value(known, "description") == ""


def test_the_window_is_not_closed_before_the_form_is_saved(browser, other_site):
    browser.expect(422)
    click_bookmarklet(browser, other_site)
    browser.fill(uri="none")
    browser.leave(browser.find("main .primary").click)
    assert browser.find("#uri-error").is_displayed()
    browser.fill(uri=other_site)
    browser.find("main .primary").click()
    require_closed(browser)


def test_without_a_window_of_its_own_saving_shows_the_bookmark(either):
    either.expected = ".* Scripts may close only the windows that were opened by them"
    either.open("/-/add?uri=https://a.example/&close=1")
    either.leave(either.find("main .primary").click)
    assert either.find("h1").text == "https://a.example/"


# --- Conflicts ---

def test_a_saved_form_is_corrected_after_back(each):
    each.post("https://a.example/", title="Old", tags=["x"])
    each.open("/?tag=x")
    each.leave(each.find(".actions a").click)
    for title in ("First", "Second"):
        each.fill(title=title)
        each.leave(each.find(".editor .primary").click)
        assert each.titles() == [title]
        each.driver.back()
        each.wait(lambda title=title: value(each, "title") == title)
    each.leave(each.link("Cancel").click)
    assert each.titles() == ["Second"]


@pytest.mark.parametrize("path", ["/-/add?uri=&_list=", "/-/add?uri=https://a.example/"])
def test_a_form_that_added_a_bookmark_changes_it_after_back(each, path):
    each.open(path)
    each.fill(uri="https://a.example/", title="First")
    each.leave(lambda: each.press(Keys.ENTER))
    each.driver.back()
    each.wait(lambda: value(each, "title") == "First" and each.all(".single > .meta"))
    each.fill(title="Second")
    each.leave(each.find(".editor .primary").click)
    assert [bookmark["title"] for bookmark in each.stored()] == ["Second"]


# --- Without a network, and with a slow one ---

@pytest.mark.parametrize("is_new", [True, False])
def test_a_form_that_could_not_be_sent_keeps_what_was_typed(browser, offline, is_new):
    path = "/-/add?uri="
    if not is_new:
        id = browser.post("https://a.example/")["id"]
        path = f"/{id}"
    browser.open(path)
    browser.fill(uri="https://a.example/", title="Typed", description="Much")
    browser.expected = OFFLINE
    with offline():
        for _ in range(2):
            browser.find(".editor .primary").click()
            browser.wait(lambda: "Not sent" in browser.find(".editor .notice").text)
    assert len(browser.all(".notice")) == 1 and not browser.all("[aria-busy=true]")
    assert [value(browser, name) for name in ("title", "description")] == ["Typed", "Much"]
    browser.leave(browser.find(".editor .primary").click)
    assert [bookmark["title"] for bookmark in browser.stored()] == ["Typed"]


def test_a_form_looks_busy_while_it_is_sent(browser, slow_network):
    browser.open("/-/add?uri=https://a.example/")
    opacity = "const form = document.querySelector('.editor[aria-busy=true]');"
    opacity += "return form && getComputedStyle(form).opacity"
    browser.double_click(browser.find(".editor .primary"))
    assert float(browser.driver.execute_script(opacity)) < 1
    browser.wait(lambda: browser.all(".saved"))
    assert len(browser.stored()) == 1


def test_reloading_a_form_does_not_restore_text_over_a_newer_version(each):
    id = each.post("https://a.example/", description="Old")["id"]
    each.open(f"/{id}")
    each.fill(description="Mine", title="Mine")
    each.post("https://a.example/", f"/{id}", description="Theirs")
    each.leave(each.driver.refresh)
    assert value(each, "description") == "Theirs"
    assert value(each, "title") == "https://a.example/"


# --- Keys ---

def blur(browser):
    browser.driver.execute_script("document.activeElement.blur()")


def test_no_single_key_does_anything_on_a_page_with_a_form_in_use(each):
    id = each.post("https://a.example/1", tags=["x"])["id"]
    each.post("https://a.example/2", tags=["y"])

    def press_keys():
        page = each.find("html")
        each.press("a", "j", "k", "e")
        assert each.find("html") == page and each.focused.tag_name in ("body", "input")

    each.open(f"/{id}")
    each.fill(title="Typed")
    blur(each)
    press_keys()
    each.fill(title="https://a.example/1")
    each.find("fieldset.choices input").click()
    press_keys()
    blur(each)
    press_keys()
    assert value(each, "title") == "https://a.example/1"
    each.expect(422)
    each.fill(uri="typed")
    each.leave(each.find("main .primary").click)
    blur(each)
    press_keys()
    assert value(each, "uri") == "typed"


def test_the_search_key_does_nothing_on_a_page_with_a_form_in_use(browser):
    browser.open("/-/add?uri=")
    browser.fill(uri="typed")
    blur(browser)
    browser.press("/")
    assert browser.focused.tag_name == "body"


def test_keys_act_on_a_page_whose_form_is_not_in_use(each):
    id = each.post("https://a.example/")["id"]
    each.open(f"/{id}")
    each.press("/")
    each.wait(lambda: each.focused.get_attribute("id") == "q")
    blur(each)
    each.leave(lambda: each.press("a"))
    assert each.find("h1").text == "Add a bookmark"


def test_the_keyboard_saves_and_leaves_a_form(each):
    each.post("https://a.example/", title="Old", tags=["x"])
    each.open("/?tag=x")
    each.leave(each.find(".actions a").click)
    each.press("er")
    assert value(each, "title") == "Older"
    each.find("#description").click()
    keys = webdriver.ActionChains(each.driver, 0).send_keys("New").key_down(Keys.CONTROL)
    each.leave(keys.send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform)
    assert each.stored()[0]["description"] == "New"
    each.leave(each.find(".actions a").click)
    each.find("#tags").click()
    each.leave(lambda: each.press(Keys.ESCAPE))
    assert each.titles() == ["Older"]
    each.leave(each.find(".actions a").click)
    each.find("#tags").click()
    each.press("typed,", Keys.ESCAPE)
    assert value(each, "tags") == "x, typed,"


def test_escape_does_not_leave_a_form_that_was_refused(browser):
    browser.open("/-/add")
    browser.fill(uri="not an address", title="Typed")
    browser.expect(422)
    browser.leave(browser.find(".editor .primary").click)
    browser.find("#description").click()
    browser.press(Keys.ESCAPE)
    browser.open("/?q=nothing")  # Any page that Escape had opened would be before this one.
    browser.leave(browser.driver.back)
    assert value(browser, "title") == "Typed"


def test_the_tags_field_shows_a_hundred_tags_and_keeps_the_caret(each):
    id = each.post("https://a.example/", tags=[f"a tag {n}" for n in range(100)])["id"]
    each.open(f"/{id}")
    field = each.find("#tags")
    assert field.rect["height"] > 120
    each.find("#title").click()
    each.press(Keys.TAB, "last, ", *[Keys.ARROW_LEFT] * len("st, "))
    each.driver.execute_script("arguments[0].blur(); arguments[0].focus()", field)
    each.press("-")
    assert tags_field(each).endswith("a tag 99, la-st, ")
    each.open("/-/add?uri=")
    assert each.find("#tags").rect["height"] < 60


def test_tags_are_separated_by_line_breaks_too(either):
    either.open("/-/add?uri=https://a.example/")
    either.find("#tags").click()
    keys = webdriver.ActionChains(either.driver, 0).send_keys("one").key_down(Keys.SHIFT)
    keys.send_keys(Keys.ENTER).key_up(Keys.SHIFT).send_keys("two").perform()
    either.leave(either.find("main .primary").click)
    assert either.stored()[0]["tags"] == ["one", "two"]


# --- Completion of tags ---

def test_the_first_completion_is_selected_and_enter_takes_it(known):
    known.open("/-/add?uri=https://new.example/")
    known.find("#tags").send_keys("pyt")
    assert options(known) == ["python", "pytest"]
    selected = known.find("[aria-selected=true]")
    assert selected.text.split() == ["python", "2"]
    tags = known.find("#tags")
    assert tags.get_attribute("aria-activedescendant") == selected.get_attribute("id")
    known.press(Keys.ENTER)
    assert tags_field(known) == "python, "
    assert not known.find("#completion-of-tags").is_displayed()
    known.press("ope")
    assert options(known) == ["Zope"]
    known.press(Keys.ENTER)
    assert known.stored("uri=https://new.example/") == []
    known.leave(lambda: known.press(Keys.ENTER))
    assert known.stored("uri=https://new.example/")[0]["tags"] == ["python", "Zope"]


@pytest.fixture
def slow_network(chromium):
    """Delay each response by half a second."""
    chromium.set_network_conditions(latency=500, throughput=1_000_000)
    yield
    chromium.delete_network_conditions()


@pytest.mark.parametrize("typed, tag", [("pyt", "python"), ("new", "new")])
def test_enter_waits_for_the_known_tags(browser, slow_network, typed, tag):
    browser.post("https://a.example/", tags=["python"])
    browser.open("/-/add?uri=https://new.example/")
    browser.find("#tags").click()
    browser.press(typed, Keys.ENTER)
    assert tags_field(browser) == typed
    if typed != tag:
        browser.wait(lambda: tags_field(browser) == f"{tag}, ")
        browser.press(Keys.ENTER)
    browser.wait(lambda: browser.stored("uri=https://new.example/"))
    assert browser.stored("uri=https://new.example/")[0]["tags"] == [tag]


def test_escape_keeps_the_typed_tag(known):
    known.open("/-/add?uri=https://new.example/")
    known.find("#tags").send_keys("pyt")
    options(known)
    known.press(Keys.ESCAPE)
    assert not known.find("#completion-of-tags").is_displayed()
    known.press(", zop")
    options(known)
    known.press(Keys.ESCAPE)
    known.leave(lambda: known.press(Keys.ENTER))
    assert known.stored("uri=https://new.example/")[0]["tags"] == ["pyt", "zop"]


def test_a_comma_keeps_the_typed_tag_and_the_tab_key_takes_the_completion(known):
    known.open("/-/add?uri=https://new.example/")
    known.find("#tags").send_keys("pyt")
    options(known)
    known.press(", we")
    assert options(known) == ["web"]
    known.press(Keys.TAB)
    assert tags_field(known) == "pyt, web, "
    known.press(Keys.TAB)
    assert known.focused.get_attribute("id") == "description"
    known.press(Keys.TAB)
    assert known.focused.get_attribute("name") == "unread"


def test_a_tag_that_is_typed_whole_is_the_first_completion(known):
    known.open("/-/add?uri=https://new.example/")
    known.find("#tags").send_keys("py")
    assert options(known) == ["py", "python", "pytest"]
    known.press(Keys.BACKSPACE, Keys.BACKSPACE, "zope")
    known.press(Keys.ENTER)
    assert tags_field(known) == "Zope, "


def test_other_completions_are_chosen_with_arrows_or_the_mouse(known):
    known.open("/-/add?uri=https://new.example/")
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
    browser.use_screen(width, height)
    browser.post("https://a.example/", tags=[f"tag {n} " + "x" * n for n in range(99)])
    browser.open("/-/add?uri=https://a.example/new")
    assert len(browser.all("fieldset.choices label")) == 8
    assert browser.driver.execute_script("return document.documentElement.scrollWidth") == width
    # The user may make the description as small as the page allows.
    browser.driver.execute_script("document.querySelector('#description').style.height = 0")
    browser.find("#tags").send_keys("t")
    assert len(options(browser)) == 6
    assert width == 1280 or browser.find("[role=option]").size["height"] >= 44
    completions, save = browser.find("#completion-of-tags").rect, browser.find("main .primary").rect
    assert completions["y"] + completions["height"] < save["y"]
    assert save["y"] + save["height"] <= height
    browser.leave(browser.find("main .primary").click)
    assert browser.stored("uri=https://a.example/new")[0]["tags"] == ["t"]


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
def test_both_versions_of_each_field_are_in_sight_above_the_buttons(browser, width, height):
    browser.use_screen(width, height)
    tags = [f"tag {n} " + "x" * n for n in range(9)]
    id = browser.post("https://a.example/", title="Old", tags=tags)["id"]
    browser.open(f"/{id}")
    browser.post("https://a.example/", f"/{id}", title="Theirs", description="Theirs")
    browser.fill(title="Mine", description="Mine")
    browser.expect(412)
    browser.leave(browser.find("main .primary").click)
    save = browser.find("main .primary").rect
    assert save["y"] + save["height"] <= height
    notes = [note.rect for note in browser.all(".theirs")]
    assert [note["y"] + note["height"] <= save["y"] for note in notes] == [True, True]
    browser.post("https://b.example/", tags=[f"known {n}" for n in range(9)])
    browser.find("#tags").send_keys(", kno")
    assert len(options(browser)) == 6
    completions = browser.find("#completion-of-tags").rect
    assert completions["y"] + completions["height"] < save["y"]


def test_known_tags_are_completed_with_a_token(browser, serve):
    browser.address = serve(BOOKMARKS_TOKEN="secret").address
    browser.expect(401)
    browser.open("/-/add?uri=")
    browser.fill(token="secret")
    browser.leave(lambda: browser.press(Keys.ENTER))
    browser.fill(uri="https://a.example/", tags="reading")
    browser.leave(browser.find(".editor .primary").click)
    browser.open("/-/add?uri=")
    browser.find("#tags").send_keys("rea")
    browser.wait(lambda: "reading" in browser.find("#completion-of-tags").text)
