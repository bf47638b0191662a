"""Fixtures of the page's tests: a real Chromium with the actions of a user."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.conftest import website

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


class Browser:
    """A Chromium that uses one service."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver
        self.address = ""
        self.expected = "(?!)"

    def expect(self, status: int) -> None:
        """Do not report console messages about pages of the service with this status."""
        self.expected = rf"{self.address}/\w*(\?\S*)? - Failed to load .* status of {status} "

    def open(self, path: str = "/") -> None:
        """Open a path of the service, or an absolute address."""
        self.driver.get(path if path.startswith("http") else self.address + path)

    def find(self, selector: str) -> WebElement:
        """Wait for an element that matches the selector; return the first one."""
        return self.wait(lambda: next(iter(self.all(selector)), None))

    def all(self, selector: str) -> list[WebElement]:
        """Return all elements that match the selector now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def link(self, text: str) -> WebElement:
        """Return the link with this text."""
        return self.driver.find_element(By.LINK_TEXT, text)

    def wait(self, condition: Callable[[], object], seconds: float = 10.0) -> WebElement:
        """Wait until the condition returns a true value; return that value."""
        ignored = (StaleElementReferenceException, NoSuchElementException)
        return WebDriverWait(self.driver, seconds, 0.02, ignored).until(lambda _: condition())

    def fill(self, **fields: str) -> None:
        """Replace the content of the fields with these ids by typing."""
        for id, text in fields.items():
            self.find(f"#{id}").send_keys(Keys.CONTROL + "a", Keys.NULL, Keys.BACKSPACE, text)

    def press(self, *keys: str) -> None:
        """Press these keys one after the other in the focused element."""
        webdriver.ActionChains(self.driver, 0).send_keys(*keys).perform()

    def double_click(self, element: WebElement) -> None:
        """Click twice at the position of the element before the first click."""
        webdriver.ActionChains(self.driver, 0).click(element).pause(0.1).click().perform()

    def leave(self, act: Callable[[], object]) -> None:
        """Call `act`, which opens another page, and wait until that page is loaded."""
        old = self.find("html")
        act()
        self.wait(lambda: self.find("html") != old and self.is_loaded())

    def is_loaded(self) -> bool:
        """Return whether the page is loaded and its script has run."""
        return bool(self.driver.execute_script("return document.readyState === 'complete'"))

    @property
    def focused(self) -> WebElement:
        """The element that has the focus."""
        return self.driver.switch_to.active_element

    def titles(self) -> list[str]:
        """Return the titles of the displayed bookmarks."""
        return [h.text for h in self.all(".list h2 > :first-child") if h.is_displayed()]

    def command(self, name: str, **arguments: object) -> None:
        """Send a command of the DevTools protocol."""
        self.driver.execute_cdp_cmd(name, arguments)

    def console_messages(self) -> list[str]:
        """Return the messages in the console since the last call, without the expected ones.

        Chromium writes a message for each page that has the status of an error.
        """
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        return [message for message in messages if not re.match(self.expected, message)]


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Run a headless Chromium for all tests; skip them without one, but fail in CI."""
    if not CHROMIUM or not DRIVER:
        assert "CI" not in os.environ, "needs chromium and chromedriver"
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("chromium")
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "disable-background-networking",
        "no-first-run",
        "hide-scrollbars",
        "window-size=1200,900",
        f"user-data-dir={profile}",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Driver(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome, service: Any) -> Iterator[Browser]:
    """Return a browser of an empty service; assert at the end that its console is empty."""
    service.empty()
    browser = Browser(chromium)
    browser.address = service.address
    browser.console_messages()
    yield browser
    messages = browser.console_messages()
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    for handle in chromium.window_handles[1:]:
        chromium.switch_to.window(handle)
        chromium.close()
    chromium.switch_to.window(chromium.window_handles[0])
    chromium.get("about:blank")
    assert messages == []


@pytest.fixture
def other_site(tmp_path: Path) -> Iterator[str]:
    """Serve a page of another site than the service; return its address."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "favicon.ico").write_bytes(b"")
    (folder / "page.html").write_text(
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>A page &amp; “more”</title>"
        "<p>Words said here.</p>"
    )
    with website(folder) as address:
        yield f"{address}/page.html"
