"""The list in a real browser: its size, its quiet actions, long and right-to-left texts."""

import pytest
from samples import SAMPLES
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

# A description of two lines, and one of more with paragraphs.
TWO_LINES = "The description of this one fills two lines, on a desktop and also on a phone. " * 2
LONG = "A paragraph of a longer description. " * 9 + "\n\n" + "The end of the description. " * 9


def right(element):
    return element.rect["x"] + element.rect["width"]


@pytest.mark.parametrize("width", [1100, 1280, 1920])
def test_all_pages_share_the_columns_of_the_header(browser, filled, width):
    browser.use_screen(width)
    id = browser.stored()[0]["id"]
    for path in ("/", f"/{id}", "/-/add", "/tags", "/-/tools", "/-/trash", "/-/similar"):
        browser.open(path)
        assert browser.find("h1").rect["x"] == browser.find(".brand").rect["x"], path
        for part in browser.all("main.single, .editor > .field > :is(input, textarea)"):
            end = right(browser.find(".search"))
            if width == 1920 and part.get_attribute("id") in ("uri", "title", "tags"):
                end -= 702  # The description is beside the other fields.
            assert abs(right(part) - end) <= 1, path
    browser.open()
    assert abs(right(browser.find(".search")) - right(browser.find(".list"))) <= 1
    assert abs(browser.find(".top nav").rect["x"] - browser.find("aside").rect["x"]) <= 1
    assert abs(right(browser.find("#add")) - right(browser.find("aside .cloud"))) <= 1


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_tags_of_the_site_are_a_row_below_the_tags(browser, width):
    browser.use_screen(width)
    browser.post("https://a.example/1", tags=[f"tag {n}" for n in range(6)])
    browser.open("/-/add?uri=https://a.example/2")
    field = browser.find("#tags").rect
    tags = browser.find(".editor fieldset").rect
    assert 0 <= tags["y"] - field["y"] - field["height"] <= 9
    assert abs(tags["x"] + 5 - field["x"]) <= 1 and tags["height"] < 60


def test_the_column_beside_the_list_is_whole_in_a_usual_window(either):
    either.use_screen(1280, 800)
    for n in range(30):
        either.post(f"https://{n}.example/", tags=[f"tag {n}", f"{n} has a long name " * 5])
    either.open()
    column = either.find("aside")
    assert column.rect["y"] + column.rect["height"] <= 800
    tags = either.all("aside .cloud li")
    assert len(tags) == 21 and max(tag.size["height"] for tag in tags) <= 25
    assert column.size["width"] == either.find("aside .cloud").size["width"]
    either.leave(either.link("All 60 tags").click)
    assert either.find("h1").text == "Tags"


def test_in_a_wide_window_the_tools_that_tidy_up_are_beside_the_others(browser):
    browser.use_screen(1280)
    browser.open("/-/tools")
    trash = browser.link("See deleted bookmarks").rect
    assert trash["x"] == browser.find(".top nav").rect["x"]
    assert trash["y"] < browser.find(".links").rect["y"]
    assert browser.find("aside h2").rect["y"] == browser.find("main h2").rect["y"]


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_button_that_puts_back_is_in_the_line_of_the_host(browser, width):
    browser.use_screen(width)
    browser.post("https://a.example/", title="A title " * 30)
    browser.open(f"/{browser.stored()[0]['id']}")
    browser.leave(browser.find(".delete button").click)
    browser.open("/-/trash")
    host = browser.find(".list .host").rect
    button = browser.find(".list .actions button").rect
    assert host["x"] + host["width"] <= button["x"]
    assert abs(button["y"] + button["height"] / 2 - host["y"] - host["height"] / 2) <= 2
    assert abs(button["x"] + button["width"] - right(browser.find(".list"))) <= 1


def test_a_phone_shows_all_controls_of_the_page_of_tags(browser, filled):
    browser.use_screen(390, 160)
    browser.open("/tags")
    browser.find(".sort summary").click()
    assert all(right(link) <= 374 for link in browser.all(".sort a"))
    browser.leave(lambda: browser.open(browser.find("[href*='=web#']").get_attribute("href")))
    label = browser.find("label[for=rename]")
    script = "return arguments[0].getBoundingClientRect().top"
    assert browser.driver.execute_script(script, label) >= 0


def test_on_a_phone_the_tags_of_a_similar_bookmark_are_whole_above_its_buttons(browser):
    browser.use_screen(390)
    for uri in ("http://a.example/page", "https://a.example/page"):
        browser.post(uri, title="The same page", tags=["reference", "web", "a longer tag"])
    browser.open("/-/similar")
    item = browser.all(".list > li")[1]
    assert item.size["height"] <= 140
    keep = item.find_element("css selector", ".actions button")
    assert keep.text == "Keep this one" and keep.size["height"] >= 44
    assert keep.value_of_css_property("border-top-color") != "rgba(0, 0, 0, 0)"
    tags = item.find_elements("css selector", ".tags bdi")
    assert [tag.text for tag in tags] == ["#reference", "#web", "#a longer tag"]
    assert all(right(tag) <= 374 for tag in tags)
    assert tags[-1].rect["y"] + 20 <= item.find_element("css selector", "button").rect["y"]
    assert keep.rect["x"] == 16 and round(right(browser.find(".list .actions a"))) == 374


@pytest.mark.parametrize("width", [500, 768, 1280])
def test_in_a_window_of_any_width_a_mouse_reaches_all_of_a_bookmark(browser, width):
    browser.use_screen(width, is_phone=False)
    browser.post("https://a.example/", title="word " * 99, tags=[f"tag {n}" for n in range(12)])
    browser.open()
    assert right(browser.find(".list")) - right(browser.find(".list h2 a")) < 60
    for tag in browser.all(".list .tags a"):
        browser.driver.execute_script("arguments[0].scrollIntoView()", tag)
        assert right(tag) <= width
    if width < 1024:
        tags = browser.find("#tags-of-list")
        assert tags.value_of_css_property("scrollbar-width") == "thin"


@pytest.mark.parametrize("width, height", [(1280, 108), (390, 104)])
def test_a_bookmark_with_two_lines_of_description_is_low(browser, width, height):
    browser.use_screen(width)
    tags = ["typography", "web design", "reading"]
    browser.post("https://practicaltypography.com/", title="A title", tags=tags, description=LONG)
    browser.post("https://www.example.org/a", title="A title", tags=tags, description=TWO_LINES)
    browser.open()
    for item in browser.all(".list > li"):
        text = item.find_element("css selector", "summary")
        assert 35 < text.size["height"] <= 40  # Two lines.
        assert item.size["height"] <= height


def test_a_long_description_unfolds_whole(everywhere):
    everywhere.post("https://a.example/", description=LONG)
    everywhere.open()
    text = everywhere.find(".list summary")
    assert text.rect["height"] <= 40
    text.click()
    script = "return arguments[0].scrollHeight - arguments[0].clientHeight"
    everywhere.wait(lambda: text.rect["height"] > 100)
    assert everywhere.driver.execute_script(script, text) == 0
    assert text.text.split() == LONG.split() and "\n\n" in text.text
    text.click()
    everywhere.wait(lambda: text.rect["height"] <= 40)


def test_a_description_that_the_list_cuts_leads_to_the_whole_one(either):
    either.post("https://a.example/", description="word " * 1000 + "end")
    either.open("/?q=word")
    either.find(".list summary").click()
    either.leave(either.link("Show the whole description").click)
    assert either.find("#description").get_property("value").endswith("end")


def test_a_description_of_one_line_needs_no_unfolding(browser, filled):
    browser.open()
    assert "45 to 90 characters." in browser.find(".list").text
    assert all(len(text.text) > 90 for text in browser.all(".list summary"))


def test_selecting_text_does_not_fold_a_description(browser):
    browser.post("https://a.example/", description=LONG)
    browser.open()
    text = browser.find(".list summary")
    text.click()
    first_line = 12 - text.size["height"] // 2
    mouse = ActionChains(browser.driver, 0).move_to_element_with_offset(text, -200, first_line)
    mouse.click_and_hold().move_by_offset(150, 0).release().perform()
    assert browser.driver.execute_script("return getSelection().toString().length") > 5
    assert text.size["height"] > 100


@pytest.mark.parametrize("scripts", ["with script", "without script"])
def test_a_phone_shows_many_bookmarks_and_opens_their_actions(browser, filled, scripts):
    browser.use_screen(390)
    if scripts == "without script":
        browser.disable_scripts()
    browser.post("javascript:" + "x" * 480, title="A bookmarklet of two lines " * 3)
    browser.post("https://b.example/", title="A title of two lines, without tags " * 3)
    browser.post("https://a.example/", title="A title of two lines " * 3, tags=["unread", "web"])
    browser.open()
    for item in browser.all(".list > li"):
        if not item.find_elements("css selector", "h2 + p:not(.meta)"):
            assert item.size["height"] <= 80
    assert browser.find(".top").size["height"] <= 64
    item = browser.find(".list > li.unread")
    delete = item.find_element("css selector", ".actions button:last-child")
    assert not delete.is_displayed()
    item.find_element("css selector", ".more").click()
    assert delete.is_displayed() and delete.size["height"] >= 44
    delete.click()
    browser.wait(lambda: len(browser.stored()) == len(SAMPLES) + 2)


def test_the_actions_of_all_bookmarks_have_one_order(browser):
    browser.post("https://a.example/", title="A", tags=["unread"])
    browser.post("https://b.example/", title="B")
    browser.open()
    orders = []
    for item in browser.all(".list > li"):
        actions = item.find_elements("css selector", ".actions > *")
        orders.append([action.get_property("textContent") for action in actions])
    others = ["Edit", "Select", "Delete"]
    assert orders == [["Mark as unread", *others], ["Mark as read", *others]]
    year = browser.stored()[0]["created"][:4]
    for date in browser.all(".list time"):
        assert date.text == "today" and date.get_attribute("title").endswith(f" {year}")


def test_on_a_phone_the_actions_are_right_of_the_first_line_in_every_direction(browser):
    browser.use_screen(390)
    browser.post("https://a.example/", title="Left to right " * 5)
    browser.post("https://b.example/", title="חדשות")
    browser.open()
    for item in browser.all(".list > li"):
        button = item.find_element("css selector", ".more").rect
        title = item.find_element("css selector", "h2 a").rect
        assert button["x"] > 330 and title["x"] + title["width"] <= button["x"] + 14
        assert abs(button["y"] + 22 - title["y"] - 11) <= 1


@pytest.mark.parametrize("width", [390, 768])
def test_on_touch_screens_a_selection_moves_no_text(browser, filled, width):
    browser.use_screen(width)
    browser.post("https://a.example/", title="Many words " * 20, description="Many words " * 20)
    browser.post("https://b.example/", title="חדשות")
    browser.open()
    texts = browser.all(".list h2 > a, .list p, .list summary")
    places = [text.rect for text in texts]
    buttons = [right(button) for button in browser.all(".list .more")]
    browser.find(".select").click()
    boxes = browser.all(".list [name=selected]")
    boxes[0].click()
    assert [text.rect for text in texts] == places
    # The boxes are where the buttons were, and that of "Select all" is below them.
    assert [right(box) + 14 for box in boxes] == buttons
    assert right(browser.find(".bar .all input")) - 5 == right(boxes[0])


@pytest.mark.parametrize("width, side", [(390, "left"), (1100, "right")])
def test_the_button_that_unchecks_all_is_at_an_end_of_its_row(browser, filled, width, side):
    browser.use_screen(width)
    browser.open()
    browser.find(".select").click()
    browser.find(".list [name=selected]").click()
    assert browser.find(".bar .all").text == "Select all on this page"
    bar = browser.find(".bar")
    uncheck = browser.find(".bar [type=reset]")
    delete = browser.find(".bar .wrong")
    if side == "left":
        assert bar.rect["x"] <= uncheck.rect["x"] <= bar.rect["x"] + 16
    else:
        assert right(bar) - 16 <= right(uncheck) <= right(bar)
        assert right(uncheck) - right(delete) <= 6
    assert uncheck.rect["y"] + uncheck.rect["height"] <= delete.rect["y"]


def test_in_a_wide_window_the_bar_is_one_row_as_wide_as_a_checked_item(browser, filled):
    browser.use_screen(1280)
    for path, checkbox in (("/", ".list [name=selected]"), ("/tags", ".cloud [name=tag]")):
        browser.open(path)
        browser.find(checkbox).click()
        bar = browser.find(".bar")
        column = browser.find(".head").rect
        assert bar.size["height"] < 64
        assert bar.rect["x"] == column["x"] - 56  # The checkboxes are inside the bar.
        assert right(bar) == column["x"] + column["width"] + 16
        assert right(browser.find(".bar .wrong")) <= browser.find(".bar .more").rect["x"]
        assert browser.find(".bar .combo").size["width"] >= 140
        assert abs(browser.find(".bar .all input").rect["x"] - browser.find(checkbox).rect["x"]) < 4


@pytest.mark.parametrize(
    "width, path", [(390, "/"), (1280, "/"), (1280, "/?limit=1"), (1280, "/tags")]
)
def test_nothing_shows_below_the_bar(browser, filled, width, path):
    browser.use_screen(width, 600)
    browser.open(path)
    if width < 1024:
        browser.find(".select").click()
    browser.find(".list [name=selected], .cloud [name=tag]").click()
    bar = browser.find(".bar")
    bottom = browser.driver.execute_script(
        "return arguments[0].getBoundingClientRect().bottom - innerHeight", bar
    )
    assert bottom == 0


def test_in_a_low_window_the_button_of_a_form_stays_in_sight(browser, filled):
    for height, is_in_sight in ((500, True), (460, False)):  # It must leave room for a field.
        browser.use_screen(1280, height)
        browser.open(f"/-/add?uri={SAMPLES[0][0]}&tags=new&description=More")
        save, delete = browser.find(".editor .primary").rect, browser.find(".delete button").rect
        assert (save["y"] + save["height"] <= height) == is_in_sight
        assert save["y"] == delete["y"]


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_parts_of_a_form_are_at_one_distance(browser, width):
    browser.use_screen(width)
    browser.open("/-/add")
    rects = [part.rect for part in browser.all(".editor > .field, .editor > .buttons")]
    ends = [rect["y"] + rect["height"] for rect in rects]
    distances = [rect["y"] - end for rect, end in zip(rects[1:], ends)]
    assert all(abs(distance - 16) <= 1 for distance in distances)


@pytest.mark.parametrize("width", [1100, 1280])
def test_deleting_is_at_the_end_of_the_row_of_saving(browser, filled, width):
    browser.use_screen(width)
    browser.open("/" + browser.stored()[0]["id"])
    save, delete = browser.find(".editor .primary").rect, browser.find(".delete button").rect
    assert save["y"] == delete["y"]
    assert abs(delete["x"] + delete["width"] - 14 - right(browser.find("main"))) <= 1


def test_on_a_phone_the_buttons_of_the_bar_are_apart(browser, filled):
    browser.use_screen(390)
    browser.open()
    browser.find(".select").click()
    browser.find(".list [name=selected]").click()
    *_, tags, read, delete = [b.rect for b in browser.all(".bar button") if b.is_displayed()]
    assert tags["y"] == read["y"] == delete["y"]
    assert read["x"] - tags["x"] - tags["width"] >= 12
    assert delete["x"] - read["x"] - read["width"] >= 12


@pytest.mark.parametrize("width, height", [(1280, 96), (390, 80)])
def test_many_tags_are_few_lines_until_the_bookmark_is_the_current_one(browser, width, height):
    browser.use_screen(width)
    browser.post("https://a.example/", title="T", tags=[f"tag number {n}" for n in range(30)])
    browser.open()
    item = browser.find(".list > li")
    assert item.size["height"] <= height
    browser.press("j")
    last = browser.all(".list .tags a")[-1]
    assert item.size["height"] > height
    assert last.rect["x"] + last.size["width"] <= width


def test_a_mouse_reaches_every_tag_and_action_on_a_wide_screen(browser):
    tags = [f"a longer tag {n}" for n in range(8)]
    browser.post("https://a.example/", title="A long title " * 12, tags=tags)
    browser.open()
    line = browser.find(".list .tags")
    pointer = ActionChains(browser.driver)
    pointer.move_to_element_with_offset(line, line.size["width"] // 2 - 2, 0).click().perform()
    # The topmost element at the middle of each control must be the control itself.
    script = """
        const {x, y, width, height} = arguments[0].getBoundingClientRect();
        const top = document.elementFromPoint(x + width / 2, y + height / 2);
        return arguments[0].contains(top);
    """
    controls = browser.all(".list .tags a") + browser.all(".list .actions > *")
    controls = [control for control in controls if control.is_displayed()]
    assert len(controls) == 11
    for control in controls:
        assert browser.driver.execute_script(script, control), control.text


def test_the_actions_open_beside_their_button_on_a_wide_touch_screen(browser, filled):
    browser.use_screen(768)
    browser.open()
    for item in browser.all(".list > li")[:3]:
        button = item.find_element("css selector", ".more")
        button.click()
        actions = browser.find(".actions:popover-open")
        assert abs(actions.rect["y"] - item.rect["y"]) < 10
        assert right(actions) <= button.rect["x"] + 1 and actions.size["height"] <= 50
        browser.press(Keys.ESCAPE)


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_the_help_to_search_is_whole_on_the_screen(either, width):
    either.use_screen(width)
    either.open()
    either.find(".help summary").click()
    box = either.find(".help > div").rect
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    if width > 600:
        assert box["x"] == either.find(".search").rect["x"]


def test_nothing_of_a_list_moves_while_it_loads(browser, filled):
    for width in (390, 1280):
        browser.use_screen(width)
        browser.open()
        moved = browser.driver.execute_async_script(
            "const done = arguments[0]; let moved = 0;"
            "new PerformanceObserver((list) => list.getEntries().forEach((shift) => "
            "{ moved += shift.value; })).observe({type: 'layout-shift', buffered: true});"
            "setTimeout(() => done(moved), 300)"
        )
        assert moved == 0


def test_actions_are_hidden_until_the_bookmark_is_hovered_or_focused(each):
    each.post_samples()
    each.open()
    actions, others = each.all(".list .actions")[:2]

    def is_quiet(element):
        return element.value_of_css_property("opacity") == "0"

    assert is_quiet(actions) and is_quiet(others)
    ActionChains(each.driver, 0).move_to_element(each.find(".list h2")).perform()
    each.wait(lambda: not is_quiet(actions))
    assert is_quiet(others)
    each.driver.execute_script("document.querySelectorAll('.list h2 a')[1].focus()")
    each.wait(lambda: not is_quiet(others))
    each.press(Keys.TAB)
    assert each.focused == each.all(".list .actions > :first-child")[1]


def test_every_page_has_links_to_add_and_to_the_tags(either, filled):
    either.expect(404)
    id = either.stored()[0]["id"]
    for path in ("/", "/?tag=web", "/?q=nothing", "/-/add?uri=", f"/{id}", "/tags", "/nothing"):
        either.open(path)
        either.leave(either.find(".top").find_element("link text", "Add").click)
        assert either.find("h1").text == "Add a bookmark"
        either.leave(either.find(".top").find_element("link text", "Tags").click)
        assert either.find("h1").text == "Tags"


def test_a_right_to_left_bookmark_stands_together_on_the_right(each):
    hebrew = "הארץ – חדשות, ידיעות מהארץ והעולם"
    each.post("https://1.example/", title=hebrew, tags=["חדשות", "news"], description="עיתון")
    each.post("https://2.example/", title=hebrew, tags=["חדשות"], description="An English text.")
    each.post("https://3.example/", title="Left to right", description="עיתון יומי")
    each.open()
    edges = each.driver.execute_script(
        """
        const side = (element, name) => {
          const range = document.createRange();
          range.selectNodeContents(element);
          return Math.round(range.getBoundingClientRect()[name]);
        };
        return [...document.querySelectorAll('.list > li')].map((item) => {
          const name = getComputedStyle(item).direction === 'rtl' ? 'right' : 'left';
          const parts = [...item.querySelectorAll('h2, p:not(.meta), .meta > a')];
          return [name, side(parts[0], name), ...parts.map((part) => side(part, name))];
        });
        """
    )
    assert [name for name, *_ in edges] == ["left", "right", "right"]
    for _, item, *parts in edges:
        assert len(parts) == 3 and all(abs(part - item) <= 1 for part in parts)


def test_select_shows_all_checkboxes_in_the_left_margin(each):
    each.post("https://1.example/", title="Left to right")
    each.post("https://2.example/", title="חדשות")
    each.open()
    boxes = each.all(".list [name=selected]")
    select, done = each.all(".select")
    for control, other, opacity in ((select, done, "0"), (done, select, "1")):
        each.wait(lambda: {b.value_of_css_property("opacity") for b in boxes} == {opacity})
        assert not other.is_displayed()
        control.click()
    for box in boxes:
        assert right(box) < each.find(".list").rect["x"]


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_done_ends_the_selection(either, filled, width):
    either.use_screen(width)
    either.open()
    select, done = either.all(".select")
    select.click()
    either.find(".list [name=selected]").click()
    assert either.find("#many").is_displayed() and not select.is_displayed()
    done.click()
    assert select.is_displayed() and not either.find("#many").is_displayed()
    assert either.all(".list :checked") == []


def test_on_a_phone_the_tag_that_a_search_found_is_in_view(browser):
    browser.use_screen(390)
    browser.post("https://a.example/", title="T", tags=[*(f"tag {n}" for n in range(9)), "last"])
    browser.open("/?q=last")
    assert right(browser.find(".tags mark")) < 374
    assert browser.find(".list > li").size["height"] <= 80
    # Other tags are whole in the line, or below what the item shows until one has the focus.
    line = browser.find(".tags").rect
    tops = {tag.rect["y"] for tag in browser.all(".tags a")} - {line["y"]}
    assert tops and min(tops) >= line["y"] + line["height"]
    browser.wait(lambda: browser.press(Keys.TAB) or browser.focused.text == "tag 8")
    line = browser.find(".tags").rect
    assert browser.focused.rect["y"] + 44 <= line["y"] + line["height"] + 1


@pytest.mark.parametrize("width", [390, 768])
@pytest.mark.parametrize("tag, is_cut", [("howto", False), ("c", False), ("long" * 60, True)])
def test_a_single_tag_is_cut_only_if_it_is_longer_than_its_line(browser, width, tag, is_cut):
    browser.use_screen(width)
    browser.post("https://a.example/", title="T", tags=[tag])
    browser.open()
    link = browser.find(".tags a")
    assert (link.get_property("scrollWidth") > link.get_property("clientWidth")) == is_cut
    assert right(link) <= width - 8
    assert link.size["width"] >= 44


def test_on_a_phone_the_place_in_the_list_is_beside_the_links_to_the_next_pages(browser, filled):
    browser.use_screen(390)
    total = len(browser.stored())
    for offset, place, links in ((0, "1–5", ["Next"]), (5, "6–10", ["Previous", "Next"])):
        browser.open(f"/?limit=5&offset={offset}")
        parts = [part for part in browser.all(".pages > *") if part.is_displayed()]
        assert [part.text for part in parts] == [f"{place} of {total}", *links]
        middles = {part.rect["y"] + part.size["height"] // 2 for part in parts}
        assert max(middles) - min(middles) <= 2


@pytest.mark.parametrize("width", [768, 1280, 1600, 1920])
def test_with_a_mouse_each_action_of_a_row_can_be_clicked(browser, filled, width):
    browser.use_screen(width)
    browser.open()
    for item in range(1, 7):
        row = f".list > li:nth-child({item})"
        heading = browser.find(f"{row} h2")
        ActionChains(browser.driver, 0).move_to_element(heading).perform()
        script = """
            const { x, y, width, height } = arguments[0].getBoundingClientRect();
            return document.elementFromPoint(x + width / 2, y + height / 2) === arguments[0]
                && document.elementFromPoint(x + width - 1, y + height / 2) === arguments[0]"""
        for control in browser.all(f"{row} .actions > *"):
            if control.is_displayed():
                assert browser.driver.execute_script(script, control), control.text


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_dates_are_one_column_at_the_end_of_the_first_line(browser, filled, width):
    browser.post("https://a.example/", title="T", tags=[f"longer tag {n}" for n in range(9)])
    browser.use_screen(width)
    browser.open()
    ends = {right(time) for time in browser.all(".list li:dir(ltr) time")}
    assert max(ends) - min(ends) <= 1
    assert abs(browser.find(".meta > a").rect["y"] - browser.find(".list time").rect["y"]) <= 2


@pytest.mark.parametrize("width, list_width", [(1280, 832), (1920, 960)])
def test_lines_of_a_description_have_at_most_85_characters(browser, width, list_width):
    browser.use_screen(width)
    browser.post("https://a.example/", description=LONG)
    browser.open()
    assert browser.find(".list").size["width"] >= list_width
    line_length = """
        const text = document.querySelector('.list summary').firstChild;
        const range = document.createRange();
        const top = (end) => { range.setStart(text, end); range.setEnd(text, end + 1);
                               return range.getBoundingClientRect().top; };
        let end = 0;
        while (top(end) < top(0) + 5) end += 1;
        return end - 1;  // Without the space at the end of the line.
    """
    assert 70 <= browser.driver.execute_script(line_length) <= 85


def test_the_words_of_a_search_are_marked(everywhere):
    everywhere.post_samples()
    everywhere.open("/?q=SEMANTICS")
    mark = everywhere.find(".list h2 mark")
    assert mark.text == "Semantics"
    assert mark.value_of_css_property("background-color") != "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("width, rows", [(1280, 1), (700, 1), (390, 1)])
def test_the_header_has_few_rows(browser, filled, width, rows):
    browser.use_screen(width)
    browser.open()
    parts = [browser.find(f".top {part}") for part in (".brand", ".search", "#add")]
    middles = {round((part.rect["y"] + part.rect["height"] / 2) / 10) for part in parts}
    assert len(middles) == rows
