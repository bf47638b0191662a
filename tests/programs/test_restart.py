"""The real command keeps bookmarks and deletions over a restart."""

import json
import urllib.request

from tests.conftest import without_inotify_warning


def request(url, method="GET", body=None):
    """Return the status, the headers and the body of a response, which may be an error."""
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json"} if data else {}
    message = urllib.request.Request(url, data, headers, method=method)
    opener = urllib.request.build_opener(NoErrors)
    with opener.open(message, timeout=60) as response:
        return response.status, response.headers, response.read()


class NoErrors(urllib.request.HTTPErrorProcessor):
    """Return errors and redirects like other responses."""

    def http_response(self, request, response):
        return response


def test_a_restarted_service_has_the_same_bookmarks_and_deletions(serve):
    service = serve()
    status, headers, _ = request(service.address + "/", "POST", {"uri": "https://a.example/"})
    assert status == 201
    deleted = headers["Location"]
    kept = request(service.address + "/", "POST", {"uri": "https://b.example/"})[2]
    assert request(deleted, "DELETE")[0] == 204
    assert service.stop() == 0
    assert without_inotify_warning(service.log[1:]) == []

    service = serve()
    status, _, body = request(service.address + "/")
    assert status == 200
    assert json.loads(body) == [json.loads(kept)]
    assert request(service.address + "/" + deleted.rpartition("/")[2])[0] == 410
