"""Requests that contain little cost little, and other requests stay fast meanwhile."""

import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import cpu_seconds, resident_bytes
from tests.storage.clients import ask

JSON, CSV = "application/json", "text/csv"
ROW = b"url,title\nx:y,A\n"
FILES = {
    "blank lines": (CSV, ROW + b"\n" * 30_000_000),
    "one line of commas": (CSV, ROW + b"," * 30_000_000),
    "empty arrays": (JSON, b'[{"uri":"x:y"}' + b",[]" * 499_998 + b"]"),
    "members of a tree": (
        JSON,
        b'{"children":[{"uri":"x:y"}],"x":[' + (b"{}," + b"   1," * 499_990) * 4 + b"1]}",
    ),
    "empty objects": (JSON, b'[{"uri":"x:y"}' + b",{}" * 499_998 + b"]"),
}
# A file of as many bookmarks takes 50 seconds of CPU time.
CPU_SECONDS = {"empty objects": 20}


def longest_delay(service, path, done):
    """Request the path again and again; return how long the slowest response took.

    The result is in seconds of CPU time of the service, which other processes do not prolong.
    """
    longest = 0.0
    while not done.wait(0.005):
        longest = max(longest, seconds_of(service, path))
    return longest


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_nothing_takes_little_time_and_delays_no_other_request(serve, name):
    service, done = serve(), threading.Event()
    media_type, body = FILES[name]
    path = "/" + ask(service.address, "POST", "/", {"uri": "x:other"}).json["id"]
    with ThreadPoolExecutor() as pool:
        longest = pool.submit(longest_delay, service, path, done)
        before = cpu_seconds(service)
        try:
            report = ask(service.address, "POST", "/-/import", body, Content_Type=media_type).json
        finally:
            done.set()
        spent = cpu_seconds(service) - before
    assert report["created"] == 1
    assert spent < CPU_SECONDS.get(name, 5)
    assert longest.result() < 0.7


# --- Searches ---

def seconds_of(service, path):
    before = cpu_seconds(service)
    assert ask(service.address, path=path).body
    return cpu_seconds(service) - before


def test_a_long_search_of_linkding_takes_little_time(serve):
    service = serve()
    for text in ("#", "#\xa0(", "#a\xa0"):
        q = urllib.parse.quote(text * (80_000 // len(text)))
        assert seconds_of(service, f"/api/bookmarks/?q={q}") < 1


def test_searches_whose_words_are_marked_take_no_lasting_memory(serve):
    service = serve()
    ask(service.address, "POST", "/", {"uri": "x:y"})
    for n in range(420):
        if n == 300:  # The cache of responses has been full twice.
            before = resident_bytes(service)
        q = "+or+".join(["x:y", *(f"{n}{'x' * 30}{word}" for word in range(99))])
        assert b"<mark>" in ask(service.address, path=f"/?q={q}", Accept="text/html").body
    assert resident_bytes(service) - before < 20_000_000  # A cache of patterns kept 1.5 GB.
