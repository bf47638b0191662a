"""Tags of many bookmarks in a real browser: filtering, adding, removing and renaming."""

import itertools

from selenium.webdriver.common.keys import Keys


class Actions:
    """Count the actions of a user: clicks, typed words and pressed keys."""

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


def test_ten_filtered_bookmarks_get_a_tag_in_four_actions(everywhere):
    browser = everywhere
    for n in range(12):
        browser.post(f"https://{n}.example/", tags=["python", *["web"] * (n < 10)])
    browser.open()
    user = Actions(browser)
    browser.leave(lambda: user.click(browser.link("web 10")))
    assert browser.find(".total").text == "10 bookmarks"
    user.click(browser.find("#add-tags"))
    user.type("to read")
    browser.leave(lambda: user.click(browser.find("#add-tags ~ button")))
    assert user.count == 4
    assert tags(browser, "tag=web") == [["python", "web", "to read"]] * 10
    assert len(browser.stored("tag=to+read")) == 10
    assert browser.find(".saved").text == "10 bookmarks changed."
    assert browser.find(".total").text == "10 bookmarks" and len(browser.titles()) == 10


def test_a_tag_is_renamed_in_three_actions(everywhere):
    browser = everywhere
    for n in range(3):
        browser.post(f"https://{n}.example/", tags=["first", "pyhton", "last"])
    browser.post("https://other.example/", tags=["other"])
    browser.open("/tags")
    user = Actions(browser)
    browser.leave(lambda: user.click(browser.all(".rename")[3]))
    browser.wait(lambda: browser.focused == browser.find("#rename"))
    user.type("python")
    browser.leave(lambda: user.type(Keys.ENTER))
    assert user.count == 3
    assert tags(browser, "tag=python") == [["first", "python", "last"]] * 3
    assert browser.find(".saved").text == "3 bookmarks changed."
    assert browser.find("h1").text == "python" and len(browser.titles()) == 3
    assert browser.stored("tag=pyhton") == []


def test_two_tags_and_back_are_three_clicks(either, filled):
    either.open()
    everything = either.titles()
    user = Actions(either)
    either.leave(lambda: user.click(either.link("web 4")))
    either.leave(lambda: user.click(either.link("python 1")))
    assert either.titles() == ["PEP 3333: Python Web Server Gateway Interface"]
    either.leave(lambda: user.click(either.find(".brand")))
    assert user.count == 3 and either.titles() == everything


def test_tags_are_removed_from_all_bookmarks_of_a_search(everywhere):
    browser = everywhere
    browser.post_samples()
    browser.open("/?q=%23web+-python")
    assert browser.find("#remove-tags ~ button").text == "Remove from 3 bookmarks"
    browser.fill(**{"remove-tags": "aria, css"})
    browser.leave(lambda: browser.press(Keys.ENTER))
    assert browser.find(".saved").text == "2 bookmarks changed."
    assert browser.stored("tag=aria") == browser.stored("tag=css") == []
    assert len(browser.titles()) == 3 and len(browser.stored("tag=web")) == 4


def test_nothing_is_changed_if_another_number_of_bookmarks_matches(either, filled):
    either.open("/?tag=web")
    either.post("https://new.example/", tags=["web"])
    either.expect(412)
    either.fill(**{"add-tags": "seen"})
    either.leave(lambda: either.press(Keys.ENTER))
    assert "is 5 now, not 4" in either.find("main").text
    assert either.stored("tag=seen") == []
    either.leave(either.link("Back to the list").click)
    assert either.find("#add-tags ~ button").text == "Add to 5 bookmarks"


def test_a_list_that_back_shows_changes_no_tags(browser, filled):
    browser.open("/?tag=web")
    browser.fill(rename="www")
    browser.leave(lambda: browser.press(Keys.ENTER))
    browser.leave(browser.driver.back)
    browser.expect(412)
    browser.fill(**{"add-tags": "seen"})
    browser.leave(lambda: browser.press(Keys.ENTER))
    assert "No tag was changed" in browser.find(".alert").text
    assert browser.stored("tag=seen") == []


def test_the_number_follows_a_deletion_in_the_list(browser, filled):
    browser.open("/?tag=web")
    browser.find(".list .actions button").click()
    browser.find(".notice")
    assert browser.find("#add-tags ~ button").text == "Add to 3 bookmarks"
    browser.fill(**{"add-tags": "seen"})
    browser.leave(lambda: browser.press(Keys.ENTER))
    assert browser.find(".saved").text == "3 bookmarks changed."


def test_only_a_selection_can_be_changed(browser, filled):
    for path, ids in {
        "/": [],
        "/?q=nothing-has-this": [],
        '/?q=web+"open': [],  # Not an expression: a change would select by mere words.
        "/?q=web": ["add-tags", "remove-tags"],
        "/?tag=web&tag=css": ["add-tags", "remove-tags"],
        "/?tag=web": ["rename", "add-tags", "remove-tags"],
    }.items():
        browser.open(path)
        inputs = browser.all(".retag input:not([type=hidden])")
        assert [field.get_property("id") for field in inputs] == ids, path


def test_the_page_of_tags_leads_to_bookmarks_without_tags(either, filled):
    either.post("https://untagged.example/", title="Untagged")
    either.open()
    either.leave(either.link("Tags").click)
    assert len(either.all(".cloud li")) == len(set(itertools.chain(*tags(either))))
    either.leave(either.find(".untagged a").click)
    assert either.titles() == ["Untagged"]
