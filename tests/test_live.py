"""The real command, talked to over a socket."""

import json
import urllib.request


def call(url, method="GET", body=None, **headers):
    """The status, the headers and the body of a real request's answer."""
    data = json.dumps(body).encode() if body is not None else None
    if data:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data, headers, method=method)
    opener = urllib.request.build_opener(NoErrors)
    with opener.open(request, timeout=10) as response:
        return response.status, response.headers, response.read()


class NoErrors(urllib.request.HTTPErrorProcessor):
    """Gives every answer as it is, errors and redirections too."""

    def http_response(self, request, response):
        return response


def test_it_starts_serves_stops_and_finds_everything_again(serve):
    service = serve()
    status, headers, body = call(service.address + "/", "POST", {"uri": "https://a.example/"})
    assert status == 201
    address = headers["Location"]
    kept = call(service.address + "/", "POST", {"uri": "https://b.example/"})[2]
    assert call(address, "DELETE")[0] == 204
    assert service.stop() == 0
    assert service.log[1:] == []

    service = serve()
    status, _, body = call(service.address + "/")
    assert status == 200
    assert json.loads(body) == [json.loads(kept)]
    assert call(service.address + "/" + address.rpartition("/")[2])[0] == 410
