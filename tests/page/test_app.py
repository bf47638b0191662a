"""The pages as an installed app, and on a phone."""

import json
from urllib.parse import urljoin

import pytest

TOKEN = "a-token-of-enough-characters"


def manifest_of(browser):
    """Return the address of the open page's manifest, and the manifest as Chromium reads it."""
    answer = browser.driver.execute_cdp_cmd("Page.getAppManifest", {})
    assert answer["errors"] == []
    return answer["url"], json.loads(answer["data"])


@pytest.mark.parametrize("options", [{}, {"BOOKMARKS_TOKEN": TOKEN}], ids=["public", "token"])
def test_chromium_can_install_it(browser, serve, options):
    browser.address = serve(**options).address
    browser.command("Network.clearBrowserCookies")
    browser.expect(401)
    browser.open("/")
    browser.find("main")
    answer = browser.driver.execute_cdp_cmd("Page.getInstallabilityErrors", {})
    assert answer["installabilityErrors"] == []
    address, manifest = manifest_of(browser)
    assert urljoin(address, manifest["start_url"]) == f"{browser.address}/"


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_help_speaks_of_sharing_on_a_phone_and_of_dragging_on_a_desktop(browser, is_empty):
    path = "/" if is_empty else "/-/tools"
    browser.open(path)
    assert "Drag this button" in browser.find("body").text
    assert browser.find("#bookmarklet").is_displayed()
    assert "share" not in browser.find("body").text
    browser.use_screen(390, 844)
    browser.open(path)
    text = browser.find("body").text
    assert "share pages to it" in text and "Drag" not in text
