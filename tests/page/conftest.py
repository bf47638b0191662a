"""Fixtures of the page's tests: real browsers with the actions of a user."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from firefox import FIREFOX, Firefox
from samples import SAMPLES
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.conftest import skip_without, until, website

# Chromium without windows, toolbars and dialogs, which needs half of the CPU time.
SHELL = shutil.which("chromium-headless-shell")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

# Browsers move the focus to a field `autofocus` a little later, and not in a page with a fragment.
IS_LOADED = """
    const isWaiting = document.querySelector("[autofocus]") && !location.hash
        && document.activeElement === document.body;
    return document.readyState === "complete" && !isWaiting;
"""


class Browser:
    def __init__(self, driver: Any, address: str) -> None:
        self.driver = driver
        self.address = address
        self.expected = "(?!)"

    def post(self, uri: str, path: str = "/", **fields: object) -> dict[str, Any]:
        body = json.dumps({"uri": uri, **fields}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, body, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def post_samples(self) -> None:
        """Add the sample bookmarks without the browser; the first one is the newest."""
        for number, (uri, title, description, tags) in enumerate(SAMPLES):
            fields = {"title": title, "description": description, "tags": tags.split(", ")}
            self.post(uri, **fields, created=f"2026-10-{30 - 2 * number:02}T09:00:00Z")

    def stored(self, query: str = "", **headers: str) -> list[dict[str, Any]]:
        request = urllib.request.Request(f"{self.address}/?{query}", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def expect(self, status: int) -> None:
        """Do not report console messages about pages of the service with this status."""
        self.expected = rf"{self.address}/[\w/-]*(\?\S*)? - Failed to load .* status of {status} "

    def open(self, path: str = "/") -> None:
        self.driver.get(path if path.startswith("http") else self.address + path)
        self.wait(self.is_loaded)

    def find(self, selector: str) -> WebElement:
        return self.wait(lambda: next(iter(self.all(selector)), None))

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def link(self, text: str) -> WebElement:
        return self.driver.find_element(By.LINK_TEXT, text)

    def wait(self, condition: Callable[[], object], seconds: float = 60.0) -> WebElement:
        """Wait until the condition returns a true value; return that value.

        A condition may fail while the browser leaves a page with the elements it asks about.
        """
        ignored = (WebDriverException,)
        return WebDriverWait(self.driver, seconds, 0.02, ignored).until(lambda _: condition())

    def fill(self, **fields: str) -> None:
        for id, text in fields.items():
            self.find(f"#{id}").click()
            keys = webdriver.ActionChains(self.driver, 0).key_down(Keys.CONTROL).send_keys("a")
            keys.key_up(Keys.CONTROL).send_keys(Keys.BACKSPACE, text).perform()

    def press(self, *keys: str) -> None:
        webdriver.ActionChains(self.driver, 0).send_keys(*keys).perform()

    def double_click(self, element: WebElement) -> None:
        """Click twice at the position of the element before the first click."""
        webdriver.ActionChains(self.driver, 0).click(element).pause(0.1).click().perform()

    def leave(self, act: Callable[[], object]) -> None:
        old = self.find("html")
        act()
        self.wait(lambda: self.find("html") != old and self.is_loaded())

    def is_loaded(self) -> bool:
        return bool(self.driver.execute_script(IS_LOADED))

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    def titles(self) -> list[str]:
        return [h.text for h in self.all(".list h2 > :first-child") if h.is_displayed()]

    def command(self, name: str, **arguments: object) -> None:
        """Send a command of the DevTools protocol (Chromium only)."""
        self.driver.execute_cdp_cmd(name, arguments)

    def use_screen(self, width: int, height: int = 800, is_phone: bool | None = None) -> None:
        """Use a screen of this size, that of a phone if it is narrow (Chromium only)."""
        if is_phone is None:
            is_phone = width < 800
        self.open()  # Chromium emulates touch only in the process of the present page.
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        self.command("Emulation.setTouchEmulationEnabled", enabled=is_phone)

    def disable_scripts(self) -> None:
        """Run no script of a page (Chromium only) until the end of the test."""
        self.command("Emulation.setScriptExecutionDisabled", value=True)

    def console_messages(self) -> list[str]:
        """Return the messages in the console since the last call, without the expected ones.

        Chromium writes a message for each page that has the status of an error. Those about pages
        of its own (chrome:) are not about this service, and the one about `autofocus` only says
        that the test was the first to focus an element.
        """
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        others = rf"{self.expected}|chrome:|\S+ - Autofocus .* already has a focused element"
        return [message for message in messages if not re.match(others, message)]


def require_chromium() -> None:
    if not CHROMIUM or not DRIVER:
        skip_without("chromium", "chromedriver")


def require_firefox() -> None:
    if not FIREFOX:
        skip_without("Firefox")


def chromium_options(profile: Path, *more: str) -> webdriver.ChromeOptions:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    arguments = (
        "headless=new no-sandbox disable-gpu disable-dev-shm-usage disable-background-networking "
        "no-first-run hide-scrollbars window-size=1200,900 "
        # A mouse: without these, a headless Chromium has no pointer at all.
        "blink-settings=primaryHoverType=2,availableHoverTypes=2,"
        "primaryPointerType=4,availablePointerTypes=4"
    )
    for argument in (*arguments.split(), f"user-data-dir={profile}", *more):
        options.add_argument(f"--{argument}")
    return options


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Run a headless Chromium for all tests; skip them without one, but fail in CI."""
    require_chromium()
    profile = tmp_path_factory.mktemp("chromium")
    options = chromium_options(profile)
    if SHELL is None:
        yield from drive(options)
        return
    command = [SHELL, *options.arguments, "--remote-debugging-port=0", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as shell:
        try:
            port = profile / "DevToolsActivePort"  # Chromium writes the port into this file.
            until(lambda: port.exists() and port.read_text() != "")
            # chromedriver cannot start the shell, but control a running one.
            options = webdriver.ChromeOptions()
            options.debugger_address = f"127.0.0.1:{port.read_text().split()[0]}"
            yield from drive(options)
        finally:
            os.killpg(shell.pid, signal.SIGTERM)  # The command is a script that starts Chromium.


def drive(options: webdriver.ChromeOptions) -> Iterator[webdriver.Chrome]:
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Driver(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome, service: Any) -> Iterator[Browser]:
    """Return a browser of an empty service; assert at the end that its console is empty."""
    service.empty()
    browser = Browser(chromium, service.address)
    browser.console_messages()
    yield browser
    chromium.switch_to.window(chromium.window_handles[-1])  # The test may have closed its window.
    messages = browser.console_messages()
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    close_windows(chromium)
    assert messages == []


def close_windows(driver: Any) -> None:
    first, *others = driver.window_handles
    for handle in others:
        driver.switch_to.window(handle)
        driver.close()
    driver.switch_to.window(first)
    driver.get("about:blank")


@pytest.fixture(scope="session")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Run a headless Firefox for all tests; skip them without one, but fail in CI."""
    require_firefox()
    firefox = Firefox(tmp_path_factory.mktemp("firefox"))
    yield firefox.driver
    firefox.stop()


@pytest.fixture
def firefox_browser(firefox: Any, service: Any) -> Iterator[Browser]:
    service.empty()
    yield Browser(firefox, service.address)
    close_windows(firefox)


@pytest.fixture(params=["Chromium", "Firefox"])
def each(request: pytest.FixtureRequest) -> Browser:
    name = {"Chromium": "browser", "Firefox": "firefox_browser"}[request.param]
    return request.getfixturevalue(name)


@pytest.fixture(params=["with script", "without script"])
def either(browser: Browser, request: pytest.FixtureRequest) -> Browser:
    if "without" in request.param:
        browser.disable_scripts()
    return browser


@pytest.fixture(params=["Chromium", "Chromium without script", "Firefox"])
def everywhere(request: pytest.FixtureRequest) -> Browser:
    name = "firefox_browser" if request.param == "Firefox" else "browser"
    browser: Browser = request.getfixturevalue(name)
    if "without" in request.param:
        browser.disable_scripts()
    return browser


@pytest.fixture
def offline(chromium: webdriver.Chrome) -> Callable[[], Any]:
    @contextmanager
    def without_network() -> Iterator[None]:
        chromium.set_network_conditions(offline=True, latency=0, throughput=1_000_000)
        yield
        chromium.delete_network_conditions()

    return without_network


@pytest.fixture
def filled(browser: Browser) -> Browser:
    browser.post_samples()
    return browser


@pytest.fixture
def other_site(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "favicon.ico").write_bytes(b"")
    (folder / "page.html").write_text(
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>A page &amp; “more”</title>"
        "<p>Words said here.</p>"
    )
    with website(folder) as address:
        yield f"{address}/page.html"
