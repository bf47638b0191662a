"""Tags of many bookmarks in a real browser: filtering, adding, removing and renaming."""

import pytest
from samples import SAMPLES
from selenium.webdriver.common.keys import Keys


class Actions:
    def __init__(self, browser):
        self.browser = browser
        self.count = 0

    def click(self, element):
        self.count += 1
        element.click()

    def type(self, *keys):
        self.count += 1
        self.browser.press(*keys)


def tags(browser, query=""):
    return [bookmark["tags"] for bookmark in browser.stored(query)]


def link_with_number(browser, name, number):
    """Return a link that has a number. The driver reports the gap before it as a line break."""
    return browser.link(f"{name}\n{number}")


def change_tags(browser, tags):
    if not browser.all("#retag[open]"):  # Back shows it open.
        browser.find("#retag > summary").click()
    browser.fill(**{"list-tags": tags})
    browser.leave(lambda: browser.press(Keys.ENTER))


def test_ten_filtered_bookmarks_get_a_tag_in_five_actions(everywhere):
    for n in range(12):
        everywhere.post(f"https://{n}.example/", tags=["python", *["web"] * (n < 10)])
    everywhere.open()
    user = Actions(everywhere)
    everywhere.leave(lambda: user.click(link_with_number(everywhere, "web", 10)))
    assert everywhere.find(".total").text == "10 bookmarks"
    user.click(everywhere.find("#retag > summary"))
    user.click(everywhere.find("#list-tags"))
    user.type("to read")
    everywhere.leave(lambda: user.type(Keys.ENTER))
    assert user.count == 5
    assert tags(everywhere, "tag=web") == [["python", "web", "to read"]] * 10
    assert len(everywhere.stored("tag=to+read")) == 10
    assert everywhere.find(".saved").text == "10 bookmarks changed."
    assert everywhere.find(".total").text == "10 bookmarks" and len(everywhere.titles()) == 10


def test_a_tag_is_renamed_in_three_actions(everywhere):
    for n in range(3):
        everywhere.post(f"https://{n}.example/", tags=["first", "pyhton", "last"])
    everywhere.post("https://other.example/", tags=["other"])
    everywhere.open("/tags")
    user = Actions(everywhere)
    everywhere.leave(lambda: user.click(everywhere.all(".rename")[3]))
    everywhere.wait(lambda: everywhere.focused == everywhere.find("#rename"))
    user.type("python")
    everywhere.leave(lambda: user.type(Keys.ENTER))
    assert user.count == 3
    assert tags(everywhere, "tag=python") == [["first", "python", "last"]] * 3
    assert everywhere.find(".saved").text == "3 bookmarks changed."
    assert everywhere.find("h1 bdi").text == "#python" and len(everywhere.titles()) == 3
    assert everywhere.stored("tag=pyhton") == []


def test_the_number_follows_a_deletion_in_the_list(browser, filled):
    browser.open("/?tag=web")
    browser.find(".list [formaction*='/delete/']").click()
    browser.find(".notice")
    browser.wait(lambda: browser.find(".total").text == "3 bookmarks")
    change_tags(browser, "seen")
    assert browser.find(".saved").text == "3 bookmarks changed."


def test_only_a_selection_can_be_changed(browser, filled):
    for path, ids in {
        "/": [],
        "/?q=nothing-has-this": [],
        "/?q=web": ["list-tags"],
        "/?tag=web&tag=css": ["list-tags"],
        "/?tag=web": ["list-tags", "rename"],
    }.items():
        browser.open(path)
        inputs = browser.all(".retag input:not([type=hidden])")
        assert [field.get_property("id") for field in inputs] == ids, path


# --- Checked bookmarks ---

def check(user, browser, numbers):
    for number in numbers:
        box = browser.all(".list [name=selected]")[number]
        browser.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", box)
        user.click(box)


def press_in_bar(browser, text):
    next(b for b in browser.all(".bar button") if b.text == text).click()


def test_ten_checked_bookmarks_get_a_tag_in_thirteen_actions_without_loading_a_page(each):
    for n in range(12):
        each.post(f"https://{n}.example/", tags=["x"])
    each.open()
    page, user = each.find("html"), Actions(each)
    check(user, each, range(10))
    assert each.find(".bar [role=status]").text == "10 selected"
    user.click(each.find("#selected-tags"))
    user.type("to read")
    user.type(Keys.ENTER)
    each.wait(lambda: each.find(".saved").text == "10 bookmarks changed.")
    assert user.count == 13 and each.find("html") == page
    assert tags(each, "tag=to+read") == [["x", "to read"]] * 10
    assert "changed" not in each.driver.current_url
    assert sum("to read" in item.text for item in each.all(".list > li")) == 10


def test_on_a_phone_the_bar_is_low_and_its_button_opens_the_field_for_tags(either):
    either.use_screen(390, 844)
    either.post("https://a.example/", title="A title of several words " * 2)
    either.open()
    heading = either.find(".list h2")
    height = heading.size["height"]
    either.find(".select").click()
    either.find(".list [name=selected]").click()
    assert heading.size["height"] == height
    assert either.find(".bar").size["height"] < 120
    assert not either.find("#selected-tags").is_displayed()
    either.find("[popovertarget=tagging]").click()
    either.find("#selected-tags").send_keys("later")
    press_in_bar(either, "Add tags")
    either.wait(lambda: either.find(".saved").text == "1 bookmark changed.")
    assert tags(either) == [["later"]]
    assert not either.find("#tagging").is_displayed()


def test_the_page_of_tags_says_how_it_is_sorted_and_how_many_are_checked(browser):
    browser.post("https://a.example/", tags=["one", "two", "three"])
    browser.open("/tags?sort=count")
    assert browser.find(".sort summary").text == "Most used"
    for box in browser.all(".cloud [name=tag]")[:2]:
        box.click()
    assert browser.find(".bar [role=status]").text == "2 selected"
    renames = [rename.value_of_css_property("opacity") for rename in browser.all(".rename")]
    assert sorted(renames) == ["0", "0", "1"]  # A mouse is on the last one.
    browser.find(".bar label input").click()
    assert browser.find(".bar [role=status]").text == "3 selected"
    assert browser.find(".bar label").text == "Select all on this page"


def test_a_phone_shows_a_query_in_place_of_the_help_and_names_the_bookmark_of_a_sheet(browser):
    browser.use_screen(390, 844)
    browser.post("https://a.example/", title="Good")
    browser.open()
    assert browser.find(".help").is_displayed()
    browser.find(".list .more").click()
    assert browser.find(".actions").get_attribute("data-title") == "Good"
    browser.open("/?q=good")
    assert not browser.find(".help").is_displayed()
    browser.find("#q").click()
    assert browser.find(".help").is_displayed()


def test_checked_bookmarks_are_changed_without_a_script(browser, filled):
    browser.disable_scripts()
    browser.open("/?tag=web")
    assert not browser.find(".bar").is_displayed()
    user = Actions(browser)
    check(user, browser, [0, 2])
    browser.find("#selected-tags").send_keys("seen")
    browser.leave(lambda: browser.press(Keys.ENTER))
    assert browser.find(".saved").text == "2 bookmarks changed."
    assert len(browser.stored("tag=seen")) == 2
    check(user, browser, [1])
    browser.leave(lambda: press_in_bar(browser, "Delete"))
    assert "deleted" in browser.find("h1").text and len(browser.stored("tag=web")) == 3
    browser.leave(browser.find(".notice button").click)
    assert len(browser.stored("tag=web")) == 4


def test_all_bookmarks_of_a_page_are_deleted_and_put_back_in_place(each):
    each.post_samples()
    each.open("/?limit=5")
    titles = each.titles()
    each.find(".list [name=selected]").click()
    each.find(".bar label input").click()
    press_in_bar(each, "Delete")
    assert "5 bookmarks" in each.find(".notice").text
    following = [bookmark["title"] for bookmark in each.stored("limit=5")]
    each.wait(lambda: each.titles() == following)
    assert len(each.stored()) == len(SAMPLES) - 5
    each.find(".notice button").click()
    each.wait(lambda: each.titles() == titles)
    assert len(each.stored()) == len(SAMPLES)


def test_only_the_versions_on_the_page_are_deleted_in_place(browser, filled):
    browser.open()
    titles = browser.titles()
    changed = browser.stored()[1]
    browser.post(changed["uri"], f"/{changed['id']}", title="Changed")
    check(Actions(browser), browser, [0, 1, 2])
    press_in_bar(browser, "Delete")
    assert "2 bookmarks" in browser.find(".notice").text
    assert "Changed" in browser.find(".notice dd:nth-of-type(2)").text
    browser.wait(lambda: browser.titles() == ["Changed", *titles[3:]])
    assert len(browser.stored()) == len(SAMPLES) - 2


def test_an_unread_bookmark_is_marked_as_read_in_one_click(everywhere):
    for n in range(2):
        everywhere.post(f"https://{n}.example/", tags=["unread", "x"], title=f"T{n}")
    everywhere.open()
    assert everywhere.find(".top nav a").text == "Unread\n2"
    everywhere.find(".list .actions button").click()
    everywhere.wait(lambda: everywhere.find(".top nav a").text == "Unread\n1")
    assert tags(everywhere, "q=T1") == [["x"]] and len(everywhere.titles()) == 2
    everywhere.leave(everywhere.find(".top nav a").click)
    assert everywhere.titles() == ["T0"]


# --- The page of tags ---

def test_tags_are_filtered_and_merged_by_keyboard(each):
    for number, tag in enumerate(["web", "web-dev", "webdevel"]):
        each.post(f"https://{number}.example/", tags=[tag])
    each.open("/tags")
    each.press("/")
    each.leave(lambda: each.press("dev", Keys.ENTER))
    each.find("h1").click()  # A browser may keep the focus in the field.
    each.press("t", Keys.SPACE, "t")
    assert each.focused.get_attribute("id") == "merged"
    each.press("devel")
    each.find("[role=option]")
    each.leave(lambda: each.press(Keys.ESCAPE, Keys.ENTER))
    assert "web-dev" in each.find("main").text


def test_several_tags_are_merged_after_a_question_with_their_numbers(everywhere):
    for n, names in enumerate([["pyhton"], ["phyton", "x"], ["python"], ["python"]]):
        everywhere.post(f"https://{n}.example/", tags=names)
    everywhere.open("/tags")
    for box in everywhere.all(".cloud [name=tag]")[:2]:
        box.click()
    everywhere.fill(merged="python")
    everywhere.leave(lambda: everywhere.press(Keys.ENTER))
    question = "Merge phyton and pyhton (2 bookmarks) into python (2 bookmarks)?"
    assert everywhere.focused.text == question
    everywhere.leave(everywhere.find("main .primary").click)
    assert sorted(tags(everywhere)) == [["python"], ["python"], ["python"], ["python", "x"]]
    assert everywhere.find(".saved").text == "2 bookmarks changed."


def test_a_tag_is_deleted_after_a_question(either, filled):
    either.open("/tags")
    number = [box.get_attribute("value") for box in either.all(".cloud input")].index("web")
    either.all(".cloud input")[number].click()
    either.leave(lambda: press_in_bar(either, "Delete"))
    assert either.find("main p").text == "Remove web from 4 bookmarks? The bookmarks stay."
    either.leave(either.find("main .primary").click)
    assert either.stored("tag=web") == [] and len(either.stored()) == len(SAMPLES)


def cpu_seconds(browser, act):
    """Return the time in which Chromium works while it does something, waits not counted."""
    times = []
    for step in (lambda: None, act):
        step()
        browser.driver.execute_script("document.body.getBoundingClientRect()")
        metrics = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        times += [metric["value"] for metric in metrics if metric["name"] == "TaskDuration"]
    return times[1] - times[0]


def test_the_page_of_20_000_tags_opens_and_checks_one_quickly(browser):
    for n in range(200):
        browser.post(f"x:{n}", tags=[f"tag {n} {number}" for number in range(100)])
    browser.command("Performance.enable", timeDomain="threadTicks")
    assert cpu_seconds(browser, lambda: browser.open("/tags")) < 2
    # Without the work of the driver and of drawing, it is a third of that.
    assert cpu_seconds(browser, browser.find(".cloud [name=tag]").click) < 0.4
    assert browser.find(".bar").is_displayed()


def test_tags_are_filtered_and_sorted(either):
    for n, names in enumerate([["Zürich", "b"], ["b"], ["a"]]):
        either.post(f"https://{n}.example/", tags=names)
    either.open("/tags")

    def shown():
        return [name.text for name in either.all(".cloud a:first-of-type bdi")]

    assert shown() == ["a", "b", "Zürich"]
    either.find(".sort summary").click()
    either.leave(either.link("Most used first").click)
    assert shown()[0] == "b"
    either.find(".sort summary").click()
    either.leave(either.link("Used once").click)
    assert shown() == ["a", "Zürich"]
    either.fill(filter="zur")
    either.leave(lambda: either.press(Keys.ENTER))
    assert shown() == ["Zürich"]


# --- Completion in every field for tags ---

def require_at_field(browser, id):
    """Assert that the suggestions are as wide as their field, and below it (above in the bar)."""
    field, shown = browser.find(f"#{id}").rect, browser.find(f"#completion-of-{id}").rect
    assert (shown["x"], shown["width"]) == (field["x"], field["width"])
    first, second = (shown, field) if id in ("merged", "selected-tags") else (field, shown)
    assert 0 <= second["y"] - first["y"] - first["height"] <= 5


@pytest.mark.parametrize("width", [390, 1280])
def test_tags_are_completed_in_every_field(browser, filled, width):
    browser.use_screen(width)
    browser.post("https://zurich.example/", tags=["Zürich", "web"])
    for path, opener, id in [
        ("/-/add", "#tags", "tags"),
        ("/?tag=web", "#retag > summary", "rename"),
        ("/?tag=web", "#retag > summary", "list-tags"),
        ("/tags", ".select, [name=tag][type=checkbox]", "merged"),
        ("/", ".select, [name=selected], [popovertarget=tagging]", "selected-tags"),
        ("/", "#q", "q"),
    ]:
        browser.open(path)
        for control in map(browser.find, opener.split(", ")):
            if control.is_displayed():
                control.click()
        browser.wait(lambda id=id: browser.find(f"#{id}").is_displayed())
        browser.find(f"#{id}").click()
        browser.press("#zuri" if id == "q" else "zuri")
        browser.wait(lambda: browser.all("[role=option]"))
        require_at_field(browser, id)
        browser.press(Keys.TAB)
        assert browser.find(f"#{id}").get_property("value").strip("#, ") == "Zürich", id


def test_tags_are_completed_in_the_search(each):
    each.post("https://zurich.example/", tags=["Zürich", "two words"])
    each.open()
    each.find("#q").click()
    each.press("hotel -#zur")
    each.wait(lambda: each.all("[role=option]"))
    each.press(Keys.TAB, "#two")
    each.wait(lambda: each.all("[role=option]"))
    each.press(Keys.ENTER)
    assert each.find("#q").get_property("value") == 'hotel -#Zürich #"two words" '
