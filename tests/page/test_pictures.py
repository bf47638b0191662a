"""The README's three pictures; `BOOKMARKS_PICTURES=tests/page` takes them again."""

import base64
import os
from pathlib import Path

# The scheme, the path, the width, the height, and what is typed into the field for tags.
PICTURES = {
    "list.png": ("light", "/", 1120, 680, ""),
    "edit.png": ("dark", "/{id}", 760, 820, "d"),
    "phone.png": ("light", "/", 390, 844, ""),
}


def test_the_pictures_can_be_taken(browser, tmp_path):
    browser.post_samples()
    folder = Path(os.environ.get("BOOKMARKS_PICTURES", tmp_path))
    for name, picture in PICTURES.items():
        (folder / name).write_bytes(take_picture(browser, *picture))


def take_picture(browser, scheme, path, width, height, typed):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.command("Emulation.setEmulatedMedia", media="", features=[feature])
    browser.use_screen(width, height, is_phone=width < 500)
    browser.open(path.format(id=browser.stored()[0]["id"]))
    if typed:
        browser.find("#tags").send_keys(typed)
        browser.wait(lambda: browser.all("[role=option]"))
    png = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    return base64.b64decode(png["data"])


def test_the_pictures_have_a_moderate_size():
    for name in PICTURES:
        assert 10_000 < (Path(__file__).parent / name).stat().st_size < 150_000
