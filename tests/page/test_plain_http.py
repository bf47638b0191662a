"""Forms that are sent over plain http to another machine's address work in each browser.

Browsers treat the addresses of this machine as secure, so the tests have a network of their own,
in which the service has an address that is not one of them.
"""

import ctypes
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from firefox import Firefox
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver

from tests.conftest import Service, require_program
from tests.page.conftest import (
    DRIVER,
    Browser,
    chromium_options,
    require_chromium,
    require_firefox,
)

CLONE_NEWNET = 0x40000000
HOST = "198.51.100.1"  # RFC 5737: an address for examples.
ADDRESS = f"http://{HOST}:8080"


@pytest.fixture
def network():
    """Return a function that calls another one in a thread with a network of its own."""
    require_program("ip")
    with ThreadPoolExecutor(1) as pool:
        if pool.submit(ctypes.CDLL(None, use_errno=True).unshare, CLONE_NEWNET).result():
            pytest.skip("needs root, to make a network namespace")
        for command in ("ip link set lo up", f"ip address add {HOST} dev lo"):
            pool.submit(subprocess.run, command.split(), check=True).result()
        yield lambda function: pool.submit(function).result()


@pytest.fixture
def service(network, data):
    """A service that the browsers reach over plain http."""
    options = ("--listen", f"{HOST}:8080", "--no-auth", "--base-url", ADDRESS)
    service = network(lambda: Service(data, *options))
    yield service
    service.stop()


@pytest.fixture
def chromium(network, tmp_path):
    require_chromium()
    options = chromium_options(tmp_path / "profile")
    driver = network(lambda: webdriver.Chrome(options, Driver(DRIVER)))
    yield driver
    network(driver.quit)


@pytest.fixture
def firefox(network, tmp_path):
    require_firefox()
    firefox = network(lambda: Firefox(tmp_path))
    yield firefox.driver
    network(firefox.stop)


def use_forms(browser):
    """Add, change and delete a bookmark with the forms of the page."""
    browser.open()
    assert not browser.driver.execute_script("return isSecureContext")
    browser.fill(first="https://a.example/")
    browser.leave(browser.find(".first button").click)
    browser.fill(title="A")
    browser.leave(browser.find(".editor .primary").click)
    assert [bookmark["title"] for bookmark in browser.stored()] == ["A"]
    browser.leave(browser.find(".list .actions a").click)
    browser.fill(title="B")
    browser.leave(browser.find(".editor .primary").click)
    assert [bookmark["title"] for bookmark in browser.stored()] == ["B"]
    browser.leave(browser.find(".list .actions a").click)
    browser.leave(browser.find(".delete button").click)
    assert browser.stored() == []


@pytest.mark.parametrize("name", ["chromium", "firefox"])
def test_forms_can_be_sent_over_plain_http(request, network, service, name):
    browser = Browser(request.getfixturevalue(name), ADDRESS)
    network(lambda: use_forms(browser))
