"""Logging in and out in real browsers."""

import signal
import time
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver

from tests.conftest import free_port
from tests.page.conftest import DRIVER, Browser, chromium_options, require_chromium, require_firefox
from tests.page.firefox import Firefox

TOKEN = "a-token-of-enough-characters"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
HOST = "marks.example"


def log_in(browser, token=TOKEN):
    browser.fill(token=token)
    browser.leave(browser.find("main .primary").click)


def log_out(browser):
    browser.leave(browser.link("Log out").click)
    browser.leave(browser.find("form[action$='/-/logout'] button").click)
    browser.console_messages()  # Chromium reports that it has cleared its cache.


def path_of(browser):
    return browser.driver.current_url.removeprefix(browser.address)


def forget_login(browser):
    browser.command("Network.clearBrowserCookies")


@pytest.fixture
def private(either, serve):
    """Return a browser, once with JavaScript and once without, of a service with a token."""
    forget_login(either)
    either.address = serve(BOOKMARKS_TOKEN=TOKEN).address
    either.expect(401)
    return either


def test_everything_works_after_a_login(private):
    private.open("/?tag=reading")
    assert private.find("h1").text == "Log in"
    assert private.focused == private.find("#token")
    log_in(private, "wrong")
    assert "wrong" in private.find("#token-error").text
    log_in(private)
    assert path_of(private) == "/?tag=reading"
    assert private.all(".saved") == []
    private.open("/-/add?uri=")
    private.fill(uri="https://a.example/", tags="reading")
    private.leave(private.find(".editor .primary").click)
    assert [b["tags"] for b in private.stored(**BEARER)] == [["reading"]]
    log_out(private)
    assert private.find("h1").text == "Log in"
    private.open("/")
    assert private.find("h1").text == "Log in"


def test_back_after_log_out_does_not_show_the_list(private):
    private.open("/")
    log_in(private)
    assert private.find("#add")
    log_out(private)
    for _ in range(2):
        private.leave(private.driver.back)
        assert private.find("h1").text == "Log in"


def test_a_form_that_is_sent_after_the_login_has_ended_is_not_lost(private):
    private.open("/-/add?uri=")
    log_in(private)
    private.fill(uri="https://a.example/", title='A "title"', tags="x, y", description="1\n2 <b>")
    forget_login(private)
    private.leave(private.find(".editor .primary").click)
    assert private.find("h1").text == "Log in"
    log_in(private, "wrong")
    log_in(private)
    assert private.find("h1").text == 'A "title"'
    (bookmark,) = private.stored(**BEARER)
    assert (bookmark["title"], bookmark["tags"]) == ('A "title"', ["x", "y"])
    assert bookmark["description"] == "1\n2 <b>"


def test_deleting_and_putting_back_outlast_the_end_of_the_login(private):
    private.open("/-/add?uri=https://a.example/&tags=x&description=Text&_list=tag%3Dx")
    log_in(private)
    private.leave(private.find(".editor .primary").click)
    (old,) = private.stored(**BEARER)
    for act in (".list [formaction*=delete]", ".notice button"):
        forget_login(private)
        private.leave(private.find(act).click)
        log_in(private)
    (new,) = private.stored(**BEARER)
    assert new["id"] != old["id"]
    assert new == old | {"id": new["id"], "modified": new["modified"]}
    assert path_of(private).replace("&restored=1", "") == f"/?tag=x#b-{new['id']}"


def test_the_search_has_room_beside_the_links_of_a_login(browser, serve):
    forget_login(browser)
    browser.address = serve(BOOKMARKS_TOKEN=TOKEN).address
    browser.expect(401)
    browser.open()
    log_in(browser)
    browser.open("/-/add?uri=https://a.example/&tags=unread")
    browser.leave(browser.find(".editor .primary").click)
    for width in (768, 1280):
        browser.use_screen(width, is_phone=False)
        browser.open()
        assert browser.link("Log out").is_displayed() and browser.find(".top nav a span")
        search, column = browser.find(".search").rect, browser.find(".list").rect
        assert search["width"] > 280
        if width == 1280:
            end = column["x"] + column["width"]
            assert abs(search["x"] + search["width"] - end) <= 1


def test_a_login_shows_no_notice_of_saving(browser, serve):
    forget_login(browser)
    browser.address = serve(BOOKMARKS_TOKEN=TOKEN).address
    browser.expect(401)
    browser.open("/-/add?uri=")
    log_in(browser)
    browser.fill(uri="https://a.example/")
    browser.leave(browser.find(".editor .primary").click)
    browser.wait(lambda: browser.find(".saved").text == "Saved.")
    (bookmark,) = browser.stored(**BEARER)
    forget_login(browser)
    browser.open(f"/{bookmark['id']}")
    log_in(browser)
    assert path_of(browser) == f"/{bookmark['id']}"
    time.sleep(0.2)  # The notice would come with the next frame.
    assert browser.all(".saved") == []


def test_visitors_see_only_the_keys_that_they_can_use(browser, serve):
    forget_login(browser)
    browser.address = serve("--public-read", BOOKMARKS_TOKEN=TOKEN).address
    browser.open()
    browser.press("?")
    assert [key.text for key in browser.all(".keys kbd")] == ["/", "j", "k", "o", "n", "p", "?"]


def test_a_forged_hash_makes_no_link(browser, serve):
    browser.address = serve(BOOKMARKS_TOKEN=TOKEN).address
    browser.expect(401)
    for hash in ("b-/evil.example/", "b-x/../y", "x"):
        forget_login(browser)
        browser.open(f"/-/login?next=/%23{hash}")
        browser.driver.execute_script("sessionStorage.setItem('bookmarks-sent', 'yes')")
        log_in(browser)
        assert path_of(browser) == f"/#{hash}"
        assert browser.all(".saved a") == []


@pytest.fixture(params=["Chromium", "Firefox"])
def start_browser(request, tmp_path):
    """Return a context manager that runs a browser of its own, always with the same profile."""
    (profile := tmp_path / "profile").mkdir()
    require_chromium() if request.param == "Chromium" else require_firefox()

    @contextmanager
    def start(address):
        if request.param == "Chromium":
            mapping = f"host-resolver-rules=MAP {HOST} 127.0.0.1"
            driver = webdriver.Chrome(chromium_options(profile, mapping), Driver(DRIVER))
            stop = driver.quit
        else:
            if not (preferences := profile / "prefs.js").exists():
                preferences.write_text(f'user_pref("network.dns.localDomains", "{HOST}");\n')
            firefox = Firefox(profile)
            driver, stop = firefox.driver, firefox.stop
        try:
            yield Browser(driver, address)
        finally:
            stop()

    return start


def test_a_login_survives_restarts_of_the_browser_and_of_the_service(start_browser, serve):
    """Over plain http from another host name, browsers send Origin, but no Sec-Fetch-Site."""
    options = ("--listen", f"127.0.0.1:{free_port()}")
    service = serve(*options, BOOKMARKS_TOKEN=TOKEN)
    address = service.address.replace("127.0.0.1", HOST)
    with start_browser(address) as browser:
        browser.open("/-/add?uri=")
        log_in(browser)
        browser.fill(uri="https://a.example/", title="Before")
        browser.leave(browser.find(".editor .primary").click)
    service.stop(signal.SIGTERM)
    service = serve(*options, BOOKMARKS_TOKEN=TOKEN)
    with start_browser(address) as browser:
        browser.open("/")
        assert browser.titles() == ["Before"]
        browser.leave(browser.find(".actions a").click)
        browser.fill(title="After")
        browser.leave(browser.find(".editor .primary").click)
        browser.open("/")
        assert browser.titles() == ["After"]
        service.stop(signal.SIGTERM)
        serve(*options, BOOKMARKS_TOKEN="another-token-than-before")
        browser.open("/")
        assert browser.find("h1").text == "Log in"
