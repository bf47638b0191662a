"""Deleting in a real browser, putting back, and the way back to the list."""

import re
from urllib.request import Request, urlopen

import pytest
from samples import SAMPLES
from selenium.webdriver.common.keys import Keys

LIST = "/?tag=web&limit=2&offset=2"
# The bookmarks with the tag `web` on the second page of two.
ON_LIST = ["Combobox Pattern | APG", "PEP 3333: Python Web Server Gateway Interface"]


# Let the script get the answers from addresses with this part two seconds later.
DELAY = """
    const [send, part] = [fetch, arguments[0]];
    window.fetch = async (address, init) => {
      const answer = await send(address, init);
      if (String(address).includes(part)) {
        await new Promise((resume) => setTimeout(resume, 2000));
      }
      return answer;
    };
"""


def fields(bookmark):
    return {name: bookmark[name] for name in ("uri", "title", "description", "tags", "created")}


def path_and_query(browser):
    address = browser.driver.current_url.removeprefix(browser.address).partition("#")[0]
    return re.sub(r"&restored=1$", "", address)  # The script removes it.


def press_delete(browser, number=0):
    browser.all(".list [formaction*=delete]")[number].click()
    return browser.find(".notice")


# --- Deleting and putting back ---

def test_a_deleted_bookmark_can_be_put_back(everywhere):
    everywhere.post_samples()
    (old,) = everywhere.stored("q=combobox")
    everywhere.open(LIST)
    notice = press_delete(everywhere)
    assert notice.text.startswith("Deleted:") and ON_LIST[0] in notice.text
    assert everywhere.stored("q=combobox") == []
    everywhere.find(".notice button").click()
    everywhere.wait(lambda: everywhere.titles() == ON_LIST)
    (new,) = everywhere.stored("q=combobox")
    assert fields(new) == fields(old)
    assert new["id"] != old["id"] and new["modified"] > old["modified"]
    assert path_and_query(everywhere) == LIST and everywhere.titles() == ON_LIST


def test_the_notice_of_a_deletion_has_the_focus(everywhere):
    everywhere.post_samples()
    everywhere.open()
    notice = press_delete(everywhere, 1)
    everywhere.wait(lambda: everywhere.focused == everywhere.find(".notice"))
    assert notice.get_property("role") == "alert" and SAMPLES[1][1] in everywhere.focused.text
    everywhere.press(Keys.TAB)
    assert everywhere.focused.text == "Put it back"


def test_what_is_saved_again_is_not_put_back(everywhere):
    everywhere.expect(409)
    everywhere.post("https://a.example/", title="Old", tags=["x"])
    everywhere.open("/?tag=x")
    press_delete(everywhere)
    new = everywhere.post("https://a.example/", title="New", tags=["y"])
    everywhere.find(".notice button").click()
    text = "Not put back, because it is saved again: New"
    everywhere.wait(lambda: any(text in notice.text for notice in everywhere.all(".notice")))
    everywhere.leave(everywhere.link("New").click)
    assert path_and_query(everywhere) == f"/{new['id']}" and everywhere.stored() == [new]


def test_deleted_bookmarks_are_put_back_and_erased_in_the_trash(everywhere):
    for number in range(3):
        id = everywhere.post(f"https://{number}.example/", title=f"T{number}")["id"]
        urlopen(Request(f"{everywhere.address}/{id}", method="DELETE"))
    everywhere.open("/-/trash")
    assert everywhere.all("[formaction*=unread]") == []
    everywhere.wait(lambda: sorted(everywhere.titles()) == ["T0", "T1", "T2"])
    first = everywhere.titles()[0]
    everywhere.find(".list .actions button").click()
    everywhere.wait(lambda: first not in everywhere.titles() and len(everywhere.titles()) == 2)
    assert [b["title"] for b in everywhere.stored()] == [first]
    second = everywhere.titles()[0]
    if everywhere.find(".select").is_displayed():  # On touch screens.
        everywhere.find(".select").click()
    everywhere.find(".list [name=selected]").click()
    everywhere.find(".bar .wrong").click()
    everywhere.wait(lambda: second not in everywhere.titles() and len(everywhere.titles()) == 1)
    assert "1 bookmark deleted for good." in everywhere.find(".saved").text
    assert path_and_query(everywhere).partition("?")[0] == "/-/trash"


def test_the_trash_follows_a_file_that_is_corrected_while_it_is_open(each, service):
    for title in ("T0", "T1"):
        id = each.post(f"https://{title}.example/", title=title)["id"]
        urlopen(Request(f"{each.address}/{id}", method="DELETE"))
    file = service.data / "bookmarks" / f"{id}.json"
    content = file.read_text()
    file.write_text("{broken}")
    each.open("/-/trash")
    each.wait(lambda: sorted(each.titles()) == sorted([f"{id}.json", "T0"]))
    file.write_text(content)
    each.find(".list .actions button").click()
    each.wait(lambda: each.titles() == ["T1"])


def test_the_list_shows_the_notice_in_place_of_the_bookmark(each):
    each.post_samples()
    each.open()
    titles = each.titles()
    press_delete(each, 1)
    each.wait(lambda: len(each.titles()) == len(titles) - 1)
    press_delete(each, 1)
    each.wait(lambda: len(each.all(".notice")) == 2)
    assert [deleted.text for deleted in each.all(".notice strong")] == titles[1:3]
    each.wait(lambda: each.find(".total").text.split()[0] == "10")
    assert each.titles() == [titles[0], *titles[3:]]
    each.press("j", "j")
    assert each.focused.text == "Put it back"
    each.press(Keys.ENTER)
    each.wait(lambda: each.titles() == [*titles[:2], *titles[3:]])
    assert len(each.stored()) == len(SAMPLES) - 1
    assert each.focused.text == titles[1]


def test_each_of_several_deletions_can_be_put_back_in_place(each):
    each.post_samples()
    each.open()
    titles = each.titles()
    for number in range(5):
        press_delete(each)
        each.wait(lambda count=number + 1: len(each.all(".notice")) == count)
        each.wait(lambda count=number + 1: len(each.titles()) == len(titles) - count)
    assert each.titles() == titles[5:]
    for number in (3, 0, 4, 1, 2):
        text = titles[number]
        texts = [notice.text for notice in each.all(".notice")]
        (place,) = [n for n, notice in enumerate(texts) if text in notice]
        each.all(".notice button")[place].click()
        each.wait(lambda text=text: text in each.titles())
    assert each.titles() == titles
    assert len(each.stored()) == len(SAMPLES)


def test_a_notice_is_no_higher_than_the_item_and_moves_nothing(browser, filled):
    browser.open()
    tops = [item.rect["y"] for item in browser.all(".list > li")]
    press_delete(browser, 1)
    browser.wait(lambda: len(browser.titles()) == len(tops) - 1)
    assert [item.rect["y"] for item in browser.all(".list > li")] == tops
    assert browser.find(".notice p").rect["height"] < 30  # One line.


def test_a_late_answer_still_shows_its_notice(browser):
    browser.post_samples()
    browser.open()
    # The list is shown anew after the first deletion, before the answer to the second one is here.
    second = browser.all(".list [formaction*=delete]")[1].get_attribute("formaction")
    browser.driver.execute_script(DELAY, second.partition("/-")[2])
    browser.driver.execute_script(
        "const [a, b] = document.querySelectorAll('.list [formaction*=delete]');"
        "a.click(); b.click();"
    )
    browser.wait(lambda: len(browser.all(".notice")) == 2)
    browser.wait(lambda: browser.find(".total").text.split()[0] == "10")
    assert len(browser.stored()) == len(SAMPLES) - 2


def test_a_double_click_deletes_one_bookmark(browser):
    for lines in range(1, 5):
        browser.post(f"https://short-{lines}.example/")
        browser.post(f"https://long-{lines}.example/", description="word " * 20 * lines)
    browser.open()
    for number in range(0, 4):
        browser.double_click(browser.all(".list [formaction*=delete]")[number])
        browser.wait(lambda count=number + 1: len(browser.all(".notice")) == count)
    assert browser.titles() == [f"https://short-{lines}.example/" for lines in range(4, 0, -1)]
    assert len(browser.stored()) == 4


def test_a_button_of_the_list_is_named_after_its_bookmark(browser, filled):
    browser.open()
    button, edit = browser.find(".list [formaction*=delete]"), browser.find(".actions a")
    assert button.accessible_name == f"Delete {SAMPLES[0][1]}"
    assert edit.accessible_name == f"Edit {SAMPLES[0][1]}"


# --- Old pages ---

def test_a_bookmark_that_has_changed_is_not_deleted(everywhere):
    everywhere.expect(412)
    id = everywhere.post("https://a.example/", title="Old", tags=["x"])["id"]
    everywhere.open("/?tag=x")
    new = everywhere.post("https://a.example/", f"/{id}", title="New", description="Added")
    notice = press_delete(everywhere)
    assert "left alone" in notice.text and "New" in notice.text and "Added" in notice.text
    assert everywhere.stored() == [new]
    in_place = everywhere.titles()
    assert in_place in ([], ["Old"])  # Without the script, the notice is a page of its own.
    everywhere.leave(everywhere.find(".notice .delete button").click)
    assert "Deleted: New" in everywhere.find(".notice").text and everywhere.stored() == []
    everywhere.leave(everywhere.link("Back to the list").click)
    assert path_and_query(everywhere) == "/?tag=x"


def test_a_list_that_back_shows_does_not_act_on_a_bookmark_that_is_gone(browser, filled):
    browser.disable_scripts()
    browser.open()
    browser.leave(browser.find(".list [formaction*=delete]").click)
    browser.leave(browser.driver.back)
    for act, status in ((".actions a", 410), (".list [formaction*=delete]", 409)):
        browser.console_messages()
        browser.expect(status)
        browser.leave(browser.find(act).click)
        assert "deleted" in browser.find("h1").text
        browser.leave(browser.driver.back)
    assert len(browser.stored()) == len(SAMPLES) - 1


# --- The way back to the list ---

@pytest.mark.parametrize("way", ["Save", "Cancel"])
def test_saving_and_canceling_lead_back_to_the_list(everywhere, way):
    everywhere.post_samples()
    everywhere.open(LIST)
    everywhere.leave(everywhere.all(".actions a")[1].click)
    title = ON_LIST[1] if way == "Cancel" else "Changed"
    everywhere.fill(title="Changed")
    buttons = everywhere.all(".editor .buttons > *")
    everywhere.leave(next(button for button in buttons if button.text == way).click)
    assert path_and_query(everywhere) == LIST
    assert everywhere.titles() == [ON_LIST[0], title]
    assert everywhere.find(".list > :target h2").text == title


def test_the_way_back_outlasts_errors_and_conflicts(either):
    id = either.post("https://a.example/", title="Old", tags=["x"])["id"]
    either.open("/?tag=x")
    either.leave(either.find(".actions a").click)
    either.fill(uri="none")
    either.expect(422)
    either.leave(either.find(".editor .primary").click)
    either.console_messages()
    either.expect(412)
    either.fill(uri="https://a.example/", title="Mine")
    either.post("https://a.example/", f"/{id}", title="Theirs")
    either.leave(either.find(".editor .primary").click)
    either.leave(either.find(".editor .primary").click)
    assert path_and_query(either) == "/?tag=x" and either.titles() == ["Mine"]


def test_a_saved_form_says_so_once(each):
    each.post_samples()
    each.open(LIST)
    each.leave(each.find(".actions a").click)
    each.leave(each.find(".editor .primary").click)
    each.wait(lambda: each.find(".list > :target .saved").text == "Saved.")
    each.leave(each.driver.refresh)
    assert each.titles() and each.all(".saved") == []
    each.leave(each.find(".actions a").click)
    each.leave(each.link("Cancel").click)
    assert each.titles() and each.all(".saved") == []


def test_a_saved_bookmark_that_is_not_on_the_list_is_linked(browser, filled):
    browser.open("/?tag=web")
    browser.leave(browser.find("#add").click)
    browser.fill(uri="https://new.example/", title="New")
    browser.leave(lambda: browser.press(Keys.ENTER))
    browser.wait(lambda: browser.find(".head ~ .saved").text == "Saved. Show it")
    browser.leave(browser.link("Show it").click)
    assert browser.find("h1").text == "New"


def test_the_list_goes_on_where_a_saved_bookmark_was(each):
    for n in range(40):
        each.post(f"https://{n}.example/", title=f"T{n:02}", description="Line\n" * 9)
    each.open("/?q=!untagged")
    for number in range(20, 22):
        position = each.titles().index(f"T{39 - number}")
        each.leave(each.all(".list .actions a")[position].click)
        each.fill(tags="done")
        each.leave(each.find(".editor .primary").click)
        each.wait(lambda: each.find(".list .saved").text == "Saved. Show it")
        assert each.driver.execute_script("return scrollY") > 500
        each.press("j")
        assert each.focused.text == f"T{38 - number}"
    each.leave(each.driver.refresh)
    assert each.all(".saved") == []
