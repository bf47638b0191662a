"""Each kind of page passes axe (WCAG 2.2 AA) and the Nu HTML checker."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from samples import SAMPLES
from selenium.webdriver.common.keys import Keys

from tests.conftest import Service, require_program, skip_without

# The folder in which npm has installed axe-core and vnu-jar, as `.ci/run` does.
MODULES = Path(os.environ.get("BOOKMARKS_NODE_MODULES", "node_modules"))
AXE = MODULES / "axe-core" / "axe.min.js"
NU = MODULES / "vnu-jar" / "build" / "dist" / "vnu.jar"


IMPORTED = b"uri,title\nnone,x\nhttps://in.example/,y\n"


def require_files(*files):
    skip_without(*[file.name for file in files if not file.exists()])
    if NU in files:
        require_program("java")


def send(address, method="GET", form=None, file=None):
    body = urllib.parse.urlencode(form).encode() if form else file
    headers = {"Accept": "text/html"} | ({"Content-Type": "text/csv"} if file else {})
    request = urllib.request.Request(address, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


@pytest.fixture(scope="module")
def login_pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("public")
    service = Service(folder, "--public-read", BOOKMARKS_TOKEN="secret")
    kept = {"next": "/-/add", "uri": "none", "title": 'A "title"', "description": "1\n2"}
    yield {
        "public": send(service.address + "/"),
        "login": send(service.address + "/-/login"),
        "ended login": send(service.address + "/-/add", "POST", kept),
        "wrong token": send(service.address + "/-/login", "POST", kept | {"token": "wrong"}),
    }
    service.stop()


@pytest.fixture(scope="module")
def pages(service, login_pages):
    service.empty()
    home = service.address
    pages = {"empty": send(home + "/"), "no tags": send(home + "/tags")}
    for uri, title, description, tags in SAMPLES:
        form = {"uri": uri, "title": title, "description": description, "tags": tags}
        send(home + "/-/add", "POST", form)
    for uri in ("http://www.same.example/", "https://same.example/?utm_source=x"):
        send(home + "/-/add", "POST", {"uri": uri, "unread": "1", "description": f"See {uri}."})
    send(home + "/", "POST", {"uri": "data:,x", "tags": ",".join(f"t {n}" for n in range(99))})
    with urllib.request.urlopen(home + "/?limit=2", timeout=60) as response:
        id, gone = (bookmark["id"] for bookmark in json.load(response))
    send(f"{home}/{gone}", "DELETE")
    other = {"uri": "https://other.example/"}
    shown = dict(re.findall(r'name="(_shown)" value="([^"]+)"', send(f"{home}/{id}")))
    typed = {"uri": SAMPLES[0][0], "title": "New", "description": "Text"}
    return pages | login_pages | {
        "list": send(home + "/"),
        "page of a filtered list": send(home + "/?tag=WEB&q=the&limit=1&offset=1"),
        "no match": send(home + "/?tag=none&q=none"),
        "bookmark": send(f"{home}/{id}"),
        "bookmark of a list": send(f"{home}/{id}?_list=tag%3Da%26limit%3D2"),
        "new bookmark": send(home + "/-/add?uri=https://new.example/&tags=a&title=T&description=D"),
        "suggested tags": send(home + "/-/add?uri=https://www.rfc-editor.org/&close=1&_list="),
        "saved page": send(f"{home}/-/add?uri={SAMPLES[0][0]}&tags=new&description=Text"),
        "added twice": send(home + "/-/add", "POST", typed),
        "imported": send(home + "/-/import", "POST", file=IMPORTED),
        "not found": send(home + "/nothing"),
        "deleted": send(f"{home}/{gone}"),
        "deleted while it was edited": send(f"{home}/-/edit/{gone}", "POST", other),
        "bad query": send(home + "/?limit=x&format=html"),
        "bad fields": send(home + "/-/add", "POST", {"uri": "none", "tags": "x" * 300}),
        "two versions": send(f"{home}/-/edit/{id}", "POST", other),
        "not deleted": send(f"{home}/-/delete/{id}", "POST", {"_shown": "old"}),
        "tags": send(home + "/tags"),
        "no such tag": send(home + "/tags?q=none"),
        "merging tags": send(home + "/-/tags", "POST", {"tag": "web", "tags": "design"}),
        "tags refused": send(home + "/-/tags", "POST", {"tag": "web", "tags": ""}),
        "tools": send(home + "/-/tools?tag=web"),
        "similar addresses": send(home + "/-/similar"),
        "nothing checked": send(home + "/-/selected", "POST", {"do": "add", "tags": "x"}),
        "checked with a wrong tag": send(
            home + "/-/selected", "POST", {"selected": id, "do": "add", "tags": "x" * 300}
        ),
        "checked but changed": send(
            home + "/-/selected", "POST", {"selected": id, "do": "add", "tags": "x"}
        ),
        "checked but gone": send(
            home + "/-/selected", "POST", {"selected": gone, "do": "delete"}
        ),
        "trash": send(home + "/-/trash"),
        "not put back": send(home + "/-/restore", "POST", {"selected": "unknown"}),
        "list after a change of tags": send(home + "/?tag=web&changed=2&failed=1"),
        "tags not changed": send(
            f"{home}/-/retag", "POST", {"tag": "web", "do": "add", "tags": "x", "expected": "99"}
        ),
        "deletion": send(f"{home}/-/delete/{id}", "POST", shown | {"_list": "tag=a"}),
    }


def test_the_nu_checker_accepts_every_page(pages, service, tmp_path):
    require_files(NU)
    files = []
    for name, text in pages.items():
        assert "<!DOCTYPE html>" in text, name
        files.append(tmp_path / f"{name.replace(' ', '-')}.html")
        files[-1].write_text(text)
    for name in set(re.findall(r"/((?:style|icon)-[\w.]+)", pages["list"])):
        files.append(tmp_path / name)
        files[-1].write_text(send(f"{service.address}/{name}"))
    command = ["java", "-jar", str(NU), "--also-check-css", "--also-check-svg", *map(str, files)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.stderr == ""


def violations(browser, only=()):
    options = {"rules": {"target-size": {"enabled": True}}} | ({"runOnly": only} if only else {})
    browser.driver.execute_script(AXE.read_text())
    return browser.driver.execute_async_script(
        "const [options, done] = arguments;"
        "axe.run(options).then(result => done(result.violations.map("
        "v => v.id + ': ' + v.nodes.map(node => node.html).join(' '))))",
        options,
    )


# In the dark a page differs in its colors only.
@pytest.mark.parametrize("scheme, rules", [("light", ()), ("dark", ["color-contrast"])])
def test_axe_accepts_every_page(pages, browser, scheme, rules):
    require_files(AXE)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.command("Emulation.setEmulatedMedia", media="", features=[feature])
    browser.open("/-/add?uri=")
    frame = browser.driver.execute_cdp_cmd("Page.getFrameTree", {})["frameTree"]["frame"]["id"]
    for name, text in pages.items():
        browser.command("Page.setDocumentContent", frameId=frame, html=text)
        browser.wait(
            lambda: browser.find(".brand").value_of_css_property("display") == "flex"
        )
        assert (name, violations(browser, rules)) == (name, [])


def test_axe_accepts_the_elements_that_the_script_adds(browser):
    require_files(AXE)
    for uri in ("https://a.example/", "https://b.example/"):
        send(browser.address + "/", "POST", {"uri": uri, "tags": "design, durability"})
    browser.open()
    browser.find(".list [formaction*=delete]").click()
    assert browser.find(".notice") and browser.all(".keys")
    assert violations(browser) == []
    browser.find(".notice button").click()
    browser.wait(lambda: browser.all(".saved"))
    browser.find(".list [name=selected]").click()
    assert browser.find(".bar").is_displayed() and violations(browser) == []
    for summary in browser.all(".menu summary"):
        summary.click()
        assert violations(browser) == []
        browser.press(Keys.ESCAPE)
    browser.find("#more ~ p button").click()
    assert browser.find("dialog").is_displayed() and violations(browser) == []
    browser.open("/-/add")
    browser.find(".editor #tags").send_keys("d")
    browser.wait(lambda: browser.all("[role=option]"))
    browser.press(Keys.ARROW_DOWN)
    assert violations(browser) == []
