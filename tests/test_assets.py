"""The page's style, script and icon."""

import re
import struct
from urllib.parse import urljoin

import pytest

from formats.html.assets import assets, served_name

PAGE = {"Accept": "text/html"}
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "webmanifest": "application/manifest+json",
}


def test_a_file_may_be_cached_for_a_year_and_needs_no_data_folder(app, data):
    caching = "public, max-age=31536000, immutable"
    tags = {}
    for name, asset in assets().items():
        response = app.get(f"/{name}", status=200)
        assert response.headers["Content-Type"] == MEDIA_TYPES[name.rpartition(".")[2]]
        assert response.headers.getall("Cache-Control") == [caching]
        assert response.body == asset.body
        tags[name] = response.headers["ETag"]
        unchanged = app.get(f"/{name}", headers={"If-None-Match": tags[name]}, status=304)
        assert unchanged.headers["Cache-Control"] == caching
    data.rename(data.with_name("aside"))
    for name, tag in tags.items():
        assert app.head(f"/{name}", status=200).headers["ETag"] == tag
    app.get("/", headers=PAGE, status=503)


def test_any_other_file_name_is_404(app):
    name = served_name("style.css")
    stem, _, suffix = name.partition(".")
    for other in (f"{stem}x.{suffix}", f"{stem.partition('-')[0]}.{suffix}", f"{name}/", "../x.y"):
        response = app.get(f"/{other}", status=404)
        assert response.headers["Cache-Control"] == "no-cache"
    app.post(f"/{name}", status=405)


@pytest.mark.parametrize(
    "prefix, quoted",
    [("", ""), ("/my/marks", "/my/marks"), ("/a ?b#%20é", "/a%20%3Fb%23%2520%C3%A9")],
)
def test_each_page_links_the_files_below_the_prefix(app, prefix, quoted):
    for path, status in [("/", 200), ("/-/add?uri=x:y", 200), ("/nothing", 404)]:
        environ = {"SCRIPT_NAME": prefix.encode().decode("latin-1")}
        page = app.get(path, headers=PAGE, extra_environ=environ, status=status).text
        links = re.findall(r'(?:src|href)="([^"]*\.(?:css|js|svg|png|webmanifest))"', page)
        named_by_manifest = {served_name("icon.png"), served_name("large.png")}
        assert set(links) == {f"{quoted}/{name}" for name in assets().keys() - named_by_manifest}


def test_the_manifest_names_icons_of_the_stated_sizes_below_the_prefix(app):
    page = app.get("/", headers=PAGE, extra_environ={"SCRIPT_NAME": "/marks"}, status=200)
    (link,) = page.html.find_all("link", rel="manifest")
    path = link["href"]
    manifest = app.get(path.removeprefix("/marks"), status=200).json
    icons = {}
    for icon in manifest["icons"]:
        address = urljoin(path, icon["src"])
        response = app.get(address.removeprefix("/marks"), status=200)
        assert address.startswith("/marks/") and response.content_type == icon["type"]
        if icon["type"] == "image/png":
            assert response.body.startswith(b"\x89PNG")
            width, height = struct.unpack(">II", response.body[16:24])
            assert icon["sizes"] == f"{width}x{height}"
            assert len(response.body) < 10_000
        icons.setdefault(icon.get("purpose", "any"), set()).add(icon["sizes"])
    assert icons == {"any": {"any", "192x192", "512x512"}, "maskable": {"512x512"}}
    assert urljoin(path, manifest["start_url"]) == urljoin(path, manifest["scope"]) == "/marks/"
    target = manifest["share_target"]
    assert (target["method"], urljoin(path, target["action"])) == ("GET", "/marks/-/add")
    assert target["params"] == {"title": "title", "text": "text", "url": "uri"}
    policy = page.headers["Content-Security-Policy"]
    assert "manifest-src 'self';" in policy and policy.startswith("default-src 'none'")
