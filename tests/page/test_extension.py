"""A real browser extension saves a bookmark over plain http from another host name."""

import hashlib
import json
import os
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.page.conftest import DRIVER, chromium_options, require_chromium

EXTENSION = Path(__file__).parent / "extension"
# Chromium derives the id of an unpacked extension from its path.
LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
ID = hashlib.sha256(bytes(EXTENSION)).hexdigest()[:32].translate(LETTERS)
PAGE = f"chrome-extension://{ID}/save.html"
HOST = "marks.example"
TOKEN = "a-token-of-enough-characters"


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """Return a function that saves a bookmark with the extension and returns the status."""
    require_chromium()
    options = chromium_options(
        tmp_path_factory.mktemp("chromium"),
        f"load-extension={EXTENSION}",
        "disable-features=DisableLoadExtensionCommandLineSwitch",
        f"host-resolver-rules=MAP {HOST} 127.0.0.1",
    )
    driver = webdriver.Chrome(options, Driver(DRIVER))

    def save(**query):
        driver.get(f"{PAGE}?{urlencode(query)}")
        output = driver.find_element(By.TAG_NAME, "output")
        return WebDriverWait(driver, 10).until(lambda _: output.text)

    driver.get(PAGE)
    if not driver.find_elements(By.TAG_NAME, "output"):
        driver.quit()
        assert "CI" not in os.environ, "this Chromium loads no unpacked extension"
        pytest.skip("this Chromium loads no unpacked extension")
    yield save
    driver.quit()


@pytest.fixture
def service(serve):
    """A service that the extension reaches at another name than the test, over plain http."""
    service = serve(BOOKMARKS_TOKEN=TOKEN)
    service.public = service.address.replace("127.0.0.1", HOST)
    return service


def stored(service):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    request = urllib.request.Request(service.address, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return [bookmark["title"] for bookmark in json.load(response)]


@pytest.mark.parametrize("scheme", ["Bearer", "Token"])
def test_an_extension_with_a_right_token_saves_a_bookmark(extension, service, scheme):
    assert extension(address=f"{service.public}/", authorization=f"{scheme} {TOKEN}") == "201"
    assert stored(service) == ["From an extension"]


def test_an_extension_with_a_wrong_token_or_none_saves_nothing(extension, service):
    assert extension(address=f"{service.public}/", authorization="Bearer wrong") == "403"
    assert extension(address=f"{service.public}/") == "403"
    assert stored(service) == []


@pytest.mark.parametrize("scheme", ["Bearer", "Token"])
def test_an_extension_with_a_wrong_token_does_not_wait_for_a_dialog(extension, service, scheme):
    query = {"address": f"{service.public}/api/bookmarks/", "method": "GET"}
    assert extension(authorization=f"{scheme} wrong", **query) == "401"
