"""The README's three pictures; `BOOKMARKS_PICTURES=tests/page` takes them again."""

import base64
import json
import os
import urllib.request
from pathlib import Path

from samples import SAMPLES

# The scheme, the path, the width, the height, and what is typed into the field for tags.
PICTURES = {
    "list.png": ("light", "/", 1120, 680, ""),
    "edit.png": ("dark", "/rfc-9110", 760, 820, "d"),
    "phone.png": ("light", "/", 390, 844, ""),
}


def put(address, **fields):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(fields).encode(), headers, method="PUT")
    urllib.request.urlopen(request, timeout=60).close()


def test_the_pictures_can_be_taken(browser, tmp_path):
    for number, (uri, title, description, tags) in enumerate(SAMPLES):
        put(
            f"{browser.address}/{'rfc-9110' if not number else number}",
            uri=uri,
            title=title,
            description=description,
            tags=tags.split(", "),
            created=f"2026-10-{30 - 2 * number:02}T09:00:00Z",
        )
    folder = Path(os.environ.get("BOOKMARKS_PICTURES", tmp_path))
    for name, picture in PICTURES.items():
        (folder / name).write_bytes(take_picture(browser, *picture))


def take_picture(browser, scheme, path, width, height, typed):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.command("Emulation.setEmulatedMedia", media="", features=[feature])
    browser.use_screen(width, height, is_phone=width < 500)
    browser.open(path)
    if typed:
        browser.find("#tags").send_keys(typed)
        browser.wait(lambda: browser.all("[role=option]"))
    png = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    return base64.b64decode(png["data"])


def test_the_pictures_have_a_moderate_size():
    for name in PICTURES:
        assert 10_000 < (Path(__file__).parent / name).stat().st_size < 150_000
