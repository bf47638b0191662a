"""The page's style, script and icon."""

import re

import pytest
import webtest

from bookmarks import make_app
from formats.html.assets import assets

PAGE = {"Accept": "text/html"}
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@pytest.fixture(params=sorted(assets()))
def name(request):
    """The name that a file is served under, which contains its digest."""
    return request.param


def test_a_file_may_be_cached_for_a_year(app, name):
    response = app.get(f"/{name}", status=200)
    assert response.headers["Content-Type"] == MEDIA_TYPES[name.rpartition(".")[2]]
    caching = "public, max-age=31536000, immutable"
    assert response.headers.getall("Cache-Control") == [caching]
    assert response.body == assets()[name].body
    headers = {"If-None-Match": response.headers["ETag"]}
    unchanged = app.get(f"/{name}", headers=headers, status=304)
    assert unchanged.headers["Cache-Control"] == caching
    assert app.head(f"/{name}", status=200).headers["ETag"] == response.headers["ETag"]


def test_any_other_file_name_is_404(app, name):
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
    for path, status in [("/", 200), ("/?uri=x:y", 200), ("/nothing", 404)]:
        environ = {"SCRIPT_NAME": prefix.encode().decode("latin-1")}
        page = app.get(path, headers=PAGE, extra_environ=environ, status=status).text
        links = re.findall(r'(?:src|href)="([^"]*\.(?:css|js|svg))"', page)
        assert set(links) == {f"{quoted}/{name}" for name in assets()}


def test_a_new_style_changes_the_entity_tag_of_a_page(app, data, monkeypatch):
    tags = {app.get("/", headers=PAGE, status=200).headers["ETag"] for _ in range(2)}
    monkeypatch.setattr("formats.http.conditional.assets_digest", lambda: "other")
    later = webtest.TestApp(make_app(data))
    assert later.get("/", headers=PAGE, status=200).headers["ETag"] not in tags
    assert len(tags) == 1


def test_a_file_is_served_even_if_the_data_folder_is_missing(app, data, name):
    for _ in range(3):
        app.get(f"/{name}", status=200)
    data.rename(data.with_name("aside"))
    app.get(f"/{name}", status=200)
    app.get("/", headers=PAGE, status=503)
