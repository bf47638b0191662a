"""Acting in the list in place, in a real browser: what stays, what is added, and failures."""

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

LOSE_ANSWERS = (
    "const send = fetch; window.fetch = async (address, init) => { const answer = await "
    "send(address, init); if (init.method === 'POST') throw new TypeError(); return answer; };"
)


def add(browser, number, **fields):
    """Add bookmarks, the newest with the highest number, with titles such as T005."""
    for n in range(number):
        created = f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z"
        browser.post(f"https://{n}.example/", title=f"T{n:03}", created=created, **fields)


def items(browser, *titles):
    """Return selectors of the items with these titles, also if a script is just replacing them."""
    def find():
        all_items = browser.all(".list > li[id]")
        return [f"#{i.get_property('id')}" for i in all_items if i.text.startswith(titles)]

    return browser.wait(find)


def press(browser, title, text="Delete"):
    (item,) = items(browser, title)
    buttons = browser.all(f"{item} .actions button")
    next(button for button in buttons if button.get_property("textContent") == text).click()


def check(browser, *titles):
    for item in items(browser, *titles):
        browser.find(f"{item} [name=selected]").click()


def checked(browser):
    return [heading.text for heading in browser.all(".list :checked + h2")]


def press_in_bar(browser, text):
    next(button for button in browser.all("#many button") if button.text == text).click()


def notices(browser):
    return [notice.text.partition("\n")[0] for notice in browser.all(".notice")]


# --- Deleting several, of which some are left alone ---

def delete_two_of_three(browser):
    """Check three bookmarks, of which one has changed since, and delete them."""
    add(browser, 5)
    browser.open()
    check(browser, "T004", "T003", "T002")
    browser.post("https://4.example/", title="T004 changed")
    press_in_bar(browser, "Delete")
    browser.wait(lambda: browser.titles() == ["T004 changed", "T001", "T000"])


def test_a_bookmark_that_is_left_alone_stays_in_the_list(each):
    delete_two_of_three(each)
    assert "Deleted: 2 bookmarks" in each.find(".list > li:nth-child(2)").text
    assert checked(each) == []
    each.find(".gone form[action$=restore] button").click()
    titles = ["T004 changed", "T003", "T002", "T001", "T000"]
    each.wait(lambda: each.titles() == titles and not each.all(".notice"))


def test_a_notice_of_a_deletion_deletes_what_it_has_left_alone(browser):
    delete_two_of_three(browser)
    browser.leave(browser.find(".gone .delete button").click)
    notice = " ".join(browser.find(".notice").text.split())
    assert "Deleted: T004 changed" in notice


# --- The notice of a deletion ---

def test_the_only_bookmark_is_put_back(each):
    each.post("https://a.example/", title="Only")
    each.open()
    press(each, "Only")
    each.wait(lambda: "no bookmarks yet" in each.find("h1").text)
    assert not any(total.is_displayed() for total in each.all(".total"))
    assert each.find("#first").is_displayed()
    each.find(".gone button").click()
    each.wait(lambda: each.titles() == ["Only"])
    assert each.find(".total").text.split() == ["1", "bookmark"] and not each.all(".ways, .notice")


def test_a_list_with_the_next_bookmarks_takes_the_place_of_what_is_deleted(each):
    add(each, 9)
    each.open("/?limit=4")
    press(each, "T007")
    each.wait(lambda: each.titles() == ["T008", "T006", "T005", "T004"])
    check(each, "T00")
    press_in_bar(each, "Delete")
    each.wait(lambda: each.titles() == ["T003", "T002", "T001", "T000"])
    assert each.all(".pages a") == [] and each.find(".total").text.split() == ["4", "bookmarks"]
    press(each, "T002")
    each.find(".gone:first-child button").click()
    each.wait(lambda: each.titles() == ["T008", "T006", "T005", "T004"])
    each.leave(each.link("Next").click)
    assert each.titles() == ["T003", "T001", "T000"]


def test_a_page_without_a_bookmark_left_says_so(browser):
    add(browser, 3)
    browser.open("/?limit=2&offset=2")
    press(browser, "T000")
    browser.wait(lambda: "No bookmark is left on this page" in browser.find(".nothing").text)
    browser.find(".gone button").click()
    browser.wait(lambda: browser.titles() == ["T000"] and not browser.all(".nothing > *"))


# --- What the user has checked, typed, opened and focused ---

def test_an_action_keeps_the_selection_and_what_is_open_and_typed(each):
    add(each, 4, tags=["unread"], description="Line\n" * 5)
    each.open()
    check(each, "T003", "T001")
    each.find(".list summary").click()
    each.fill(**{"selected-tags": "half"})
    press(each, "T003", "Mark as read")
    each.wait(lambda: each.find(".top nav a").text == "Unread\n3")
    assert checked(each) == ["T003", "T001"] and len(each.all(".list [open]")) == 1
    assert each.find("#selected-tags").get_property("value") == "half"
    assert each.find(".bar [role=status]").text == "2 selected"
    press(each, "T002")
    each.wait(lambda: each.titles() == ["T003", "T001", "T000"])
    assert checked(each) == ["T003", "T001"] and len(each.all(".list [open]")) == 1


def test_the_bar_marks_as_unread_only_if_all_checked_are_read(each):
    add(each, 2)
    each.open()
    for action, unread in (("Mark as unread", ["T001"]), ("Mark as read", [])):
        check(each, "T001")
        assert [b.text for b in each.all(".bar button") if "Mark" in b.text] == [action]
        each.press("r")
        each.wait(lambda: [h.text for h in each.all(".unread h2")] == unread)
        each.press(Keys.ESCAPE)


@pytest.mark.parametrize("path", ["/", "/?tag=unread"])
def test_the_keyboard_goes_on_after_an_action(each, path):
    add(each, 5, tags=["unread"])
    each.open(path)
    each.press("j", "j", Keys.TAB)
    assert each.focused.text == "Mark as read"
    each.press(Keys.ENTER)
    each.wait(lambda: each.find(".top nav a").text == "Unread\n4")
    title = "T003" if path == "/" else "T002"
    each.wait(lambda: each.focused.text == title)
    each.press("d")
    each.wait(lambda: title not in each.titles())
    each.press("j")
    assert each.focused.text == f"T{int(title[1:]) - 1:03}"


def test_far_down_a_list_the_page_stays_and_says_what_is_done(each):
    add(each, 60, tags=["unread"], description="A description")

    def top(selector):
        script = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
        return each.driver.execute_script(script, selector)

    each.open()
    (item,) = items(each, "T020")
    script = "document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })"
    each.driver.execute_script(script, item)
    place = top(item)
    check(each, "T020", "T019")
    each.find("#selected-tags").click()
    each.press("later", Keys.ENTER)
    each.wait(lambda: each.all("main > .saved"))
    height = each.driver.execute_script("return innerHeight")
    assert abs(place - top(item)) <= 2  # Browsers round the position.
    assert place < top("main > .saved") < height - 20
    check(each, "T020", "T019")
    each.press("r")
    each.wait(lambda: not checked(each) and len(each.stored("tag=unread")) == 58)
    check(each, "T019", "T018")
    each.press("d")
    each.wait(lambda: not checked(each) and len(each.stored()) == 58)
    each.leave(each.find(f"{item} .actions a").click)
    each.leave(each.find(".editor .primary").click)
    assert height / 4 < top(item) < height / 2
    each.open("/-/trash")
    each.press("j", Keys.ENTER)
    each.wait(lambda: len(each.stored()) == 59)


# --- Refusals, and no answer ---

def test_an_error_of_the_bar_keeps_the_selection_and_what_was_typed(each):
    each.expect(422)
    add(each, 2)
    each.open()
    page = each.find("html")
    check(each, "T001")
    each.fill(**{"selected-tags": "x" * 300})
    press_in_bar(each, "Add tags")
    each.wait(lambda: "A tag must be at most 255" in each.find("main > .notice").text)
    assert each.find("#selected-tags").get_property("value") == "x" * 300
    assert checked(each) == ["T001"]
    each.fill(**{"selected-tags": "short"})
    press_in_bar(each, "Add tags")
    each.wait(lambda: each.all("main > .saved") and not each.all(".notice"))
    assert checked(each) == [] and each.find("html") == page
    assert each.find("#selected-tags").get_property("value") == ""
    assert len(each.stored("tag=short")) == 1


ANSWER = (
    "const send = fetch; window.sent = 0; window.fetch = async (address, init) => {"
    "  if (init.method !== 'POST') return send(address, init);"
    "  window.sent += 1; return new Response(arguments[0], { status: 503 }); };"
).replace("arguments[0]", "`%s`")


@pytest.mark.parametrize("page, text", [
    ("<main><div class='notice alert'><p>Busy.</p></div></main>", "Busy."),
    ("<h1>503</h1><p>The proxy has no server.</p>", "may be done or not"),
])  # fmt: skip
def test_a_form_that_is_not_done_is_not_sent_again(browser, page, text):
    add(browser, 2)
    browser.open()
    old = browser.find("html")
    browser.driver.execute_script(ANSWER % page)
    press(browser, "T001")
    browser.wait(lambda: text in browser.find("#main .notice").text)
    assert browser.driver.execute_script("return sent") == 1 and browser.find("html") == old
    assert browser.titles() == ["T001", "T000"] and len(browser.stored()) == 2


def test_without_a_network_nothing_is_sent(browser, offline):
    browser.expected = ".*(ERR_INTERNET_DISCONNECTED|icon from the Manifest)"
    add(browser, 2)
    browser.open()
    with offline():
        press(browser, "T001")
        browser.wait(lambda: "Not sent" in browser.find("#main .notice").text)
    press(browser, "T001")
    browser.wait(lambda: browser.titles() == ["T000"])


def test_a_deletion_without_an_answer_is_not_sent_again(browser):
    add(browser, 2)
    browser.open()
    browser.driver.execute_script(LOSE_ANSWERS)
    press(browser, "T001")
    assert "did not answer" in browser.find("#main .notice").text
    assert browser.titles() == ["T001", "T000"] and len(browser.stored()) == 1


def test_putting_back_without_an_answer_keeps_the_notice(browser):
    add(browser, 2)
    browser.open()
    press(browser, "T001")
    browser.wait(lambda: browser.titles() == ["T000"])
    browser.driver.execute_script("window.fetch = () => Promise.reject(new TypeError())")
    for _ in range(2):
        browser.find(".gone button").click()
        browser.wait(lambda: len(notices(browser)) == 2)
    assert notices(browser)[0].startswith("Deleted: T001")


# --- Checking several, and keys ---

def test_a_click_with_shift_checks_all_between(each):
    add(each, 6)
    each.open()
    check(each, "T004")
    keys = webdriver.ActionChains(each.driver, 0).key_down(Keys.SHIFT)
    (item,) = items(each, "T001")
    keys.click(each.find(f"{item} [name=selected]")).key_up(Keys.SHIFT).perform()
    assert checked(each) == ["T004", "T003", "T002", "T001"]
    assert each.find(".bar [role=status]").text == "4 selected"
    each.press(Keys.ESCAPE)
    each.wait(lambda: not each.find("#many").is_displayed())
    assert checked(each) == []


def test_keys_tag_and_mark_and_open_a_bookmark(each):
    add(each, 1, tags=["unread"])
    address = f"{each.address}/tags"
    each.post(address, title="Newest", tags=["unread"])
    each.open()
    each.press("j", "r")
    each.wait(lambda: each.stored("q=Newest")[0]["tags"] == [])
    each.wait(lambda: len(each.all(".list .unread")) == 1)
    each.press("r")
    each.wait(lambda: len(each.all(".list .unread")) == 2)
    each.press("t")
    each.wait(lambda: each.focused.get_attribute("id") == "selected-tags")
    each.press("new", Keys.ENTER)
    each.wait(lambda: each.stored("q=Newest")[0]["tags"] == ["unread", "new"])
    each.wait(lambda: each.focused.text == "Newest" and not checked(each))
    each.press("o")
    each.wait(lambda: len(each.driver.window_handles) == 2)
    each.driver.switch_to.window(each.driver.window_handles[-1])
    each.wait(lambda: each.driver.current_url == address)


# --- Double clicks and Back ---

def test_a_list_that_back_shows_acts_in_place(browser, filled):
    browser.open()
    browser.leave(browser.find(".actions a").click)
    browser.leave(browser.driver.back)
    page = browser.find("html")
    browser.all(".list [formaction*=delete]")[0].click()
    browser.find(".gone")
    assert browser.find("html") == page


# --- On phones ---

def test_targets_are_large_and_the_bar_covers_nothing_on_a_phone(browser, filled):
    hits = """
        const target = arguments[0];
        target.scrollIntoView({block: 'center', inline: 'center'});
        const box = target.getBoundingClientRect();
        const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
        return [-21, 21].every((way) => target.contains(document.elementFromPoint(x, y + way)));
    """
    for width, path, selector in [
        (768, "/", ".top nav a, .list .more, .meta > a"), (390, "/tags", ".sort summary"),
        (390, "/?q=none", ".nothing a"),
        (390, "/", "#more a, .list .more, label.select, #tags-of-list a, .sort summary"),
    ]:  # fmt: skip
        browser.use_screen(width, 844)
        browser.open(path)
        coarse = "return matchMedia('(pointer: coarse)').matches"
        browser.wait(lambda: browser.driver.execute_script(coarse), seconds=10)
        for target in browser.all(selector)[:5]:
            assert browser.driver.execute_script(hits, target), target.text
    browser.find(".list .more").click()
    next(b for b in browser.all(".list :popover-open > *") if b.text == "Select").click()
    assert browser.focused == browser.find(".list :checked")
    covered = "scrollTo(0, 1e6); const bottom = (s) => document.querySelector(s)"
    covered += ".getBoundingClientRect(); return bottom('#more').top - bottom('.bar').bottom"
    assert browser.driver.execute_script(covered) >= 0
