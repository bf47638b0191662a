"""What the tests of the page share: a real Chromium, driven as a person would."""

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
    """A Chromium at one service's address."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver
        self.address = ""
        self.expected = "(?!)"

    def expect(self, status: int) -> None:
        """Expects that a page of the service has this status."""
        self.expected = rf"{self.address}/\w*(\?\S*)? - Failed to load .* status of {status} "

    def open(self, path: str = "/") -> None:
        """Goes to a path of the service, or to any whole address."""
        self.driver.get(path if path.startswith("http") else self.address + path)

    def find(self, selector: str) -> WebElement:
        """The first element that the selector finds, as soon as there is one."""
        return self.wait(lambda: next(iter(self.all(selector)), None))

    def all(self, selector: str) -> list[WebElement]:
        """All elements that the selector finds now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def link(self, text: str) -> WebElement:
        """The link of this text."""
        return self.driver.find_element(By.LINK_TEXT, text)

    def wait(self, condition: Callable[[], object], seconds: float = 10.0) -> WebElement:
        """What the condition gives as soon as that is something."""
        gone = (StaleElementReferenceException, NoSuchElementException)
        return WebDriverWait(self.driver, seconds, 0.02, gone).until(lambda _: condition())

    def fill(self, **fields: str) -> None:
        """Types into the fields of these ids, in place of what is there."""
        for id, text in fields.items():
            self.find(f"#{id}").send_keys(Keys.CONTROL + "a", Keys.NULL, Keys.BACKSPACE, text)

    def press(self, *keys: str) -> None:
        """Presses these keys one after the other, wherever the focus is."""
        webdriver.ActionChains(self.driver, 0).send_keys(*keys).perform()

    def double_click(self, element: WebElement) -> None:
        """Clicks twice where the element is at first."""
        webdriver.ActionChains(self.driver, 0).click(element).pause(0.1).click().perform()

    def leave(self, act: Callable[[], object]) -> None:
        """Does what leads to another page, and waits until that is there."""
        old = self.find("html")
        act()
        self.wait(lambda: self.find("html") != old and self.is_loaded())

    def is_loaded(self) -> bool:
        """Whether the page is there, its script done."""
        return bool(self.driver.execute_script("return document.readyState === 'complete'"))

    @property
    def focused(self) -> WebElement:
        """The element that has the focus."""
        return self.driver.switch_to.active_element

    def titles(self) -> list[str]:
        """The titles of the shown bookmarks."""
        return [h.text for h in self.all(".list h2 > :first-child") if h.is_displayed()]

    def command(self, name: str, **arguments: object) -> None:
        """A command of the DevTools protocol."""
        self.driver.execute_cdp_cmd(name, arguments)

    def complaints(self) -> list[str]:
        """What the console was told since the last time, of scripts and of the CSP.

        It is also told of each page that has an error's status, which is no complaint.
        """
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        return [message for message in messages if not re.match(self.expected, message)]


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """A headless Chromium for the whole run; none may be missing in CI."""
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
    """A browser at an empty service. In the end nothing may have been amiss in its console."""
    service.empty()
    browser = Browser(chromium)
    browser.address = service.address
    browser.complaints()
    yield browser
    complaints = browser.complaints()
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    for handle in chromium.window_handles[1:]:
        chromium.switch_to.window(handle)
        chromium.close()
    chromium.switch_to.window(chromium.window_handles[0])
    chromium.get("about:blank")
    assert complaints == []


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[str]:
    """The address of a page on another port than the service's."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "favicon.ico").write_bytes(b"")
    (folder / "page.html").write_text(
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>A page &amp; “more”</title>"
        "<p>Words said here.</p>"
    )
    with website(folder) as address:
        yield f"{address}/page.html"
