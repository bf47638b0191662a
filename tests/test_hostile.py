"""Hostile requests get no 5xx and no malformed response, and write no file elsewhere."""

import contextlib
import csv
import io
import json
import logging
import random
import re
import socket
import urllib.parse
from xml.etree import ElementTree

import hypothesis
import pytest
import webtest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from bookmarks import make_app
from formats import LISTS_BY_NAME
from formats.form import MAX_FIELDS
from storage.bookmark import FIELDS, Bookmark
from storage.search import MAX_TERMS
from tests.conftest import cpu_seconds
from tests.formats.test_hostile_files import mutate
from tests.formats.test_html import Page
from tests.formats.writing import write_list

JSON, XBEL, FORM = "application/json", "application/x-xbel", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
WHOLE = {"uri": "https://a.example/", "title": "A", "description": "", "tags": ["x"]}
# The bytes that may have a meaning in a header, a query or a path, and letters beyond ASCII.
SPECIAL = [byte for byte in range(256) if not chr(byte).isalnum() or byte in b"0a\xe9"]
ONE = Bookmark(
    id="b", uri="https://b.example/?a=1&b", title="<B> & 'b'", description="Two\nlines",
    tags=("x", "y z"), created="2024-01-01T00:00:00Z", modified="2024-02-01T00:00:00Z",
)  # fmt: skip
EACH = settings(
    deadline=None, derandomize=True, max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


def check_netscape(text):
    assert text.startswith("<!DOCTYPE NETSCAPE-Bookmark-file-1>")
    assert text.count("<DL>") == text.count("</DL>")


def check_csv(text):
    assert {len(row) for row in csv.reader(io.StringIO(text), strict=True)} <= {len(FIELDS)}


READERS = {
    "application/json": json.loads,
    "application/problem+json": json.loads,
    "application/x-xbel": ElementTree.fromstring,
    "application/atom+xml": ElementTree.fromstring,
    "text/csv": check_csv,
    "text/plain": str,
    "text/css": str,
    "text/javascript": str,
    "image/svg+xml": ElementTree.fromstring,
}


class Client:
    """A client that checks every response of an application with /a and the deleted /gone."""

    def __init__(self, data, caplog):
        self.app = make_app(data)
        self.parent, self.log = data.parent, caplog
        app = webtest.TestApp(self.app)
        app.put_json("/gone", WHOLE, status=201)
        app.delete("/gone", status=204)
        app.put_json("/a", WHOLE, status=201)
        self.other_files = self._list_other_files()

    def _list_other_files(self):
        names = (path.relative_to(self.parent).as_posix() for path in self.parent.rglob("*"))
        expected = re.compile(r"data/(bookmarks|tombstones)/[a-z0-9][a-z0-9_-]{0,63}\.json")
        return {name for name in names if not expected.fullmatch(name)}

    def __call__(self, path="/", method="GET", body=b"", environ=None, **headers):
        request = webtest.TestRequest.blank("/", method=method, body=body)
        request.environ["PATH_INFO"] = path
        request.environ.update(environ or {})
        for name, value in headers.items():
            key = name.upper()
            request.environ[key if key.startswith("CONTENT_") else f"HTTP_{key}"] = value
        response = request.get_response(self.app)
        assert response.status_int < 500, response.text
        assert not [r for r in self.log.records if r.levelno >= logging.ERROR or r.exc_info]
        self._check(response)
        return response

    def _check(self, response):
        """Assert that the body has the syntax of its format, and no header a line break."""
        assert not re.search(r"[\r\n\0]", "".join(f"{n}{v}" for n, v in response.headers.items()))
        if not response.body:
            return
        text = response.body.decode("utf-8")
        if response.content_type != "text/html":
            READERS[response.content_type](text)
        elif "Content-Disposition" in response.headers:
            check_netscape(text)
        else:
            Page(text)

    def check_everything(self):
        for name in LISTS_BY_NAME:
            assert self(environ={"QUERY_STRING": f"format={name}"}).status_int == 200
        assert self("/feed").status_int == 200
        assert self._list_other_files() == self.other_files


@pytest.fixture
def client(data, caplog):
    (data.parent / "secret.json").write_text("{}")
    client = Client(data, caplog)
    yield client
    client.check_everything()
    client.app.store.close()


# --- Bodies ---

def encode_form(pairs):
    return urllib.parse.urlencode(pairs).encode()


def multipart(*parts):
    return b"".join(b"--b\r\n%s\r\n\r\n%s\r\n" % part for part in parts) + b"--b--\r\n"


def part(name, value):
    return f'Content-Disposition: form-data; name="{name}"'.encode(), value.encode()


FILE = b'Content-Disposition: form-data; name="file"; filename="f"\r\nContent-Type: text/plain'
PAIRS = [("uri", ONE.uri), ("title", ONE.title), ("tags", "x, y z"), ("description", "a\r\nb")]


BODIES = {
    "json": (JSON, json.dumps(WHOLE | {"uri": ONE.uri, "created": ONE.created}).encode()),
    "json file": (JSON, write_list("json", [ONE])),
    "xbel": (XBEL, write_list("xbel", [ONE])),
    "csv": ("text/csv", write_list("csv", [ONE])),
    "netscape": ("text/html", write_list("netscape", [ONE])),
    "form": (FORM, encode_form(PAIRS)),
    "form of a page": (FORM, encode_form([*PAIRS, ("_version", "0" * 32), ("_opened", "0 1 2")])),
    "multipart": (MULTIPART, multipart(*(part(*pair) for pair in PAIRS))),
    "text": ("text/plain", ONE.title.encode()),
}
for name in LISTS_BY_NAME:
    BODIES[f"{name} in a form"] = MULTIPART, multipart((FILE, write_list(name, [ONE])))
del BODIES["html in a form"]  # No page is read.
TARGETS = [("POST", "/"), ("POST", "/a"), ("PUT", "/a"), ("PUT", "/new"), ("PUT", "/a/uri")]
TARGETS += [("PUT", "/a/tags"), ("PUT", "/gone"), ("POST", "/gone"), ("POST", "/tags")]
PAGES = ["/-/add", "/-/edit/a", "/-/edit/gone", "/-/delete/a", "/-/restore", "/-/retag"]
TARGETS += [("POST", path) for path in (*PAGES, "/-/import", "/api/bookmarks/")]
PARTS = [
    *(b"<", b">", b'"', b"'", b"&", b";", b"=", b"/", b"\r\n", b"\0", b"\xff", b"\xed\xa0\x80"),
    *(b"[", b"]", b"{", b"}", b":", b"\\", b"\\ud800", b"NaN", b"9" * 5000, b"1e999", b"null"),
    *(b"../", b",", b"-", b"%00", b"%ff", b"+", b"&tags=", b"&uri=", b"--b", b"\r\n--b\r\n", b"%"),
    *(b"<!DOCTYPE", b"]]>", b"<![CDATA[", b"<!--", b"&#0;", b"&x;", b"<bookmark", b"\xef\xbf\xbe"),
    *(b"\xe2\x80\xae", b"\xc2\x85", b"\xe2\x80\xa8", b"\x1b[31m", b"=1+1", b"a:", b"'" * 99),
]  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_a_mutated_body_is_handled(client, name):
    chance = random.Random(name)
    media_type, body = BODIES[name]
    for _ in range(8):
        changed = mutate(body, chance, PARTS)
        for method, path in TARGETS:
            accept = chance.choice(["*/*", BROWSER])
            client(path, method, changed, Content_Type=media_type, Accept=accept)


@pytest.mark.parametrize("name", BODIES)
def test_a_truncated_body_is_an_error(client, name):
    media_type, body = BODIES[name]
    for end in range(0, len(body), 7):
        client("/", "POST", body[:end], Content_Type=media_type)
        client("/-/import", "POST", body[:end], Content_Type=media_type)
        environ = {"CONTENT_LENGTH": str(len(body))}
        response = client("/", "POST", body[:end], environ, Content_Type=media_type)
        # The entries before the end of a truncated file may be imported.
        is_whole = body[:end].rstrip().endswith(b"--b--")
        assert is_whole or 400 <= response.status_int < 500 or response.json["skipped"]


CODECS = ["x", "utf-16", "utf-7", "rot13", "idna", "base64", "undefined"]  # Of Python, or unknown.


@pytest.mark.parametrize("codec", CODECS)
def test_a_codec_of_python_is_no_charset_of_a_body(client, codec):
    xml = f"<?xml version='1.0' encoding='{codec}'?><xbel/>".encode()
    header = f'Content-Disposition: form-data; name="uri"\r\nContent-Type: text/x; charset={codec}'
    client("/", "POST", multipart((header.encode(), b"x:y")), Content_Type=MULTIPART)
    for path in ("/", "/-/import"):
        client(path, "POST", xml, Content_Type=XBEL)
        for media_type in (JSON, FORM, "text/xml", "text/plain"):
            client(path, "POST", b"\xff", Content_Type=f"{media_type}; charset={codec}")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values),
    max_leaves=5,
)


@EACH
@hypothesis.given(body=st.dictionaries(st.sampled_from([*WHOLE, "id", "created"]), VALUES) | VALUES)
def test_any_json_is_handled(client, body):
    for method, path in (("POST", "/"), ("PUT", "/a"), ("PUT", "/a/tags"), ("POST", "/-/import")):
        client(path, method, json.dumps(body).encode(), Content_Type=JSON)


TEXTS = st.text(max_size=8) | st.sampled_from(["\0", "\x1b", "\u2028", "\ufffe", "<", "a" * 5000])
FIELD_NAMES = st.sampled_from([*Bookmark.__struct_fields__, "_method", "_version", "file", "x"])


@EACH
@hypothesis.given(pairs=st.lists(st.tuples(FIELD_NAMES, TEXTS), max_size=6))
def test_any_form_is_handled(client, pairs):
    parts = multipart(*(part(name, value) for name, value in pairs))
    for path in ("/", "/a", *PAGES):
        client(path, "POST", encode_form(pairs), Content_Type=FORM, Accept=BROWSER)
    client("/-/add", "POST", parts, Content_Type=MULTIPART, Accept=BROWSER)


@EACH
@hypothesis.given(
    fields=st.fixed_dictionaries({}, optional=dict.fromkeys(WHOLE, TEXTS)), tags=st.lists(TEXTS)
)
def test_every_accepted_bookmark_can_be_written_in_every_format(client, fields, tags):
    body = json.dumps(WHOLE | fields | {"tags": tags}).encode()
    if client("/a", "PUT", body, Content_Type=JSON).status_int == 200:
        for path in ("/a", "/a/title", "/a/tags", "/a/description"):
            for accept in (JSON, XBEL, BROWSER, "text/plain"):
                client(path, Accept=accept)
        for name in LISTS_BY_NAME:
            client(environ={"QUERY_STRING": f"format={name}"})
        client("/feed")


HEADERS = {
    "Host": ["localhost", "localhost:80", "127.0.0.1"],
    "Accept": [BROWSER, "text/csv;q=0.5, */*;q=0.1", JSON],
    "If_Match": ['"a"', 'W/"a"', "*"],
    "If_None_Match": ['"a", "b"', "*"],
    "If_Modified_Since": ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"],
    "If_Unmodified_Since": ["Sun Nov  6 08:49:37 1994", "Mon, 01 Jan 1 00:00:00 +9999"],
    "Cookie": ["bookmarks=a; b=c", ";;;"],
    "Content_Type": [f"{JSON}; charset=utf-8", MULTIPART, 'text/csv; header="present"'],
    "Content_Encoding": ["identity", "gzip"],
    "Content_Length": ["7", "0"],
    "Authorization": ["Bearer s3cret", "Basic YTpiCg=="],
    "Origin": ["http://localhost", "null"],
    "Transfer_Encoding": ["chunked"],
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_mutated_header_is_handled(client, name):
    chance = random.Random(name)
    body = BODIES["json"][1]
    values = [mutate(chance.choice(HEADERS[name]).encode(), chance, PARTS) for _ in range(50)]
    values += [HEADERS[name][0].encode() + bytes([byte]) for byte in SPECIAL]
    for value in values:
        value = re.sub("[\r\n\0]", "", value.decode("latin-1"))  # Every server refuses these.
        method, path = chance.choice([("GET", "/"), ("GET", "/a"), ("GET", "/feed"), *TARGETS])
        headers = {"Content_Type": JSON} | {name: value}
        client(path, method, body if method != "GET" else b"", **headers)


PARAMETERS = ["format", "tag", "q", "uri", "limit", "offset", "title", "tags"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_special_byte_in_a_parameter_is_handled(client, name):
    for byte in SPECIAL:
        client("/feed", environ={"QUERY_STRING": f"{name}=%{byte:02x}"})
        raw = f"{name}=https://a.example/{chr(byte)}&format=html"
        client(environ={"QUERY_STRING": raw})


PLACES = ["/{}", "{}", "{}/a", "/a{}", "/{}a", "/a/{}", "/a/{}title", "/a/title{}", "/feed{}"]
PLACES += ["/a{}title", "/style{}.css", "/openapi{}json", "/gone{}", "/{}/title", "/a/../{}"]


@pytest.mark.parametrize("place", PLACES)
def test_every_special_byte_in_a_path_is_handled(client, place):
    body = json.dumps(WHOLE | {"uri": "https://c.example/"}).encode()
    for byte in SPECIAL:
        for method in ("GET", "PUT"):
            client(place.format(chr(byte)), method, body, Content_Type=JSON)


@pytest.mark.parametrize("id", [
    "..", ".", "../secret", "..%2fsecret", "..\\secret", "/etc/passwd", "a/../../secret", "a\0",
    "secret.json", "a:b", "a" * 65, "A",
])  # fmt: skip
def test_no_id_names_a_file_outside_its_folder(client, id):
    body = json.dumps(WHOLE | {"id": id, "uri": "https://c.example/"}).encode()
    for method, path in [("PUT", f"/{id}"), ("GET", f"/{id}"), ("DELETE", f"/{id}")]:
        assert client(path, method, body, Content_Type=JSON).status_int in (404, 405)
    client("/", "POST", body, Content_Type=JSON)
    client("/-/import", "POST", b"[%s]" % body, Content_Type=JSON)
    xbel = write_list("xbel", [ONE]).replace(b"b-b", f"b-{id}".replace("\0", "").encode())
    for path in ("/", "/-/import"):
        client(path, "POST", xbel + b"<!-- -->" * 2, Content_Type=XBEL)
    assert (client.parent / "secret.json").read_text() == "{}"


# --- Limits ---

def test_the_number_of_parameters_and_form_fields_is_limited(client):
    for count, status in [(MAX_FIELDS, 200), (MAX_FIELDS + 1, 400)]:
        assert client(environ={"QUERY_STRING": "&".join(["x=1"] * count)}).status_int == status
    fields = [("uri", ONE.uri)] + [("tags", "x")] * (MAX_FIELDS - 1)
    for more, status in [([], {200, 201}), ([("tags", "x")], {400})]:
        body = encode_form(fields + more)
        assert client("/", "POST", body, Content_Type=FORM).status_int in status
        parts = multipart(*(part(*pair) for pair in fields + more))
        assert client("/", "POST", parts, Content_Type=MULTIPART).status_int in status


@pytest.mark.parametrize("path", ["/", "/feed"])
def test_the_number_of_tags_and_words_in_a_query_is_limited(client, path):
    for count, status in [(MAX_TERMS, 200), (MAX_TERMS + 1, 400)]:
        words = "q=" + "+".join(map(str, range(count)))
        for query in ("&".join(f"tag={n}" for n in range(count)), words, words.replace("+", "&q=")):
            assert client(path, environ={"QUERY_STRING": query}).status_int == status


LOCAL = b" HTTP/1.1\r\nHost: localhost"


@pytest.mark.parametrize("head, status", [
    (b"GET /" + LOCAL + b"\r\nX: " + b"x" * 200_000, 200),
    (b"GET /" + LOCAL + b"\r\nX: " + b"x" * 300_000, 431),
    (b"POST /" + LOCAL + b"\r\nContent-Length: x", 400),
    (b"POST /" + LOCAL + b"\r\nContent-Length: 1\r\nContent-Length: 2", 400),
    (b"POST /" + LOCAL + b"\r\nContent-Length: 36000000", 413),
    (b"POST /" + LOCAL + b"\r\nTransfer-Encoding: gzip", 501),
    (b"GET / HTTP/1.1\r\nHost : localhost", 400),
    (b"\xff\xfe\x00 / HTTP/1.1", 400),
    (b"GET //[::1" + LOCAL, 404),
    (b"GET /" + LOCAL + b"\r\nHost: localhost", 400),
    (b"GET http://localhost/ HTTP/1.1\r\nAccept: */*", 400),
])  # fmt: skip
def test_the_server_refuses_a_malformed_request(service, head, status):
    with connect(service) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert int(connection.recv(12)[9:]) == status


def connect(service):
    url = urllib.parse.urlsplit(service.address)
    return socket.create_connection((url.hostname, url.port), timeout=60)


# --- Chunked bodies ---

@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_no_request_is_read_after_one_with_two_lengths(service, version):
    hidden = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(service) as connection:
        connection.sendall(
            b"POST /shown HTTP/%s\r\nHost: localhost\r\nConnection: keep-alive\r\n"
            b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n%s"
            % (version, 5 + len(hidden), hidden)
        )
        answer = b""
        with contextlib.suppress(ConnectionError):
            while chunk := connection.recv(65_536):
                answer += chunk
    assert answer.startswith(b"HTTP/%s 400" % version)
    assert answer.count(b"HTTP/1") == 1  # The connection is closed (RFC 9112 section 6.1).


CHUNKED = (
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def test_a_malformed_request_line_or_length_is_400_and_not_in_the_log(serve):
    service = serve()
    length = b"POST /" + LOCAL + b"\r\nContent-Length: " + b"0" * 5_000
    for head in (b"GET http://[::1/" + LOCAL, b"GET http://]/" + LOCAL, length):
        with connect(service) as connection:
            connection.sendall(head + b"\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 400"
    service.stop()
    assert "Traceback" not in "".join(service.log) and "exception" not in "".join(service.log)


ONE_CHUNK = b'%s\r\n{"uri":"x:y"}\r\n0\r\n%s\r\n'  # A line of its size, and a trailer.


def body_of_chunks(size, total):
    body = b'{"uri":"x:y","title":"%s"}' % (b" " * total)
    chunks = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


@pytest.mark.parametrize("body, status", [
    (ONE_CHUNK % (b"d;" + b"x" * 15_998, b""), 201),
    (ONE_CHUNK % (b"d;" + b"x" * 24_998, b""), 400),
    (ONE_CHUNK % (b"d", b"X: " + b"x" * 15_993 + b"\r\n"), 201),
    (ONE_CHUNK % (b"d", b"X: " + b"x" * 24_993 + b"\r\n"), 400),
    (body_of_chunks(16, 60_000), 201),
    (body_of_chunks(1, 60_000), 400),
], ids=["line", "long line", "trailer", "long trailer", "chunks", "small chunks"])  # fmt: skip
@pytest.mark.parametrize("step", [100, 100_000])
def test_the_framing_of_chunks_is_limited(service, body, status, step):
    service.empty()
    with connect(service) as connection:
        connection.sendall(CHUNKED)
        with contextlib.suppress(ConnectionError):  # The server closes the connection early.
            for start in range(0, len(body), step):
                connection.sendall(body[start : start + step])
        assert int(connection.recv(12)[9:]) == status


ENDLESS = {  # The beginning of a chunked body, and what follows it again and again.
    "size": (b"", b"0"),
    "quoted extension": (b'd;x="', b"\\x"),
    "trailer": (b"0\r\nX", b": y\r\nX"),
    "small chunks": (b"", b"1\r\nx\r\n"),
    "many extensions": (b"", b"1;" + b"x" * 4000 + b"\r\nx\r\n"),
}


def test_endless_framing_of_chunks_takes_little_cpu_time(serve):
    service = serve(BOOKMARKS_TOKEN="none of these requests sends it")
    spent = {}
    for name, (begin, rest) in ENDLESS.items():
        before = cpu_seconds(service)
        with connect(service) as connection:
            connection.sendall(CHUNKED + begin)
            with contextlib.suppress(ConnectionError):
                connection.sendall(rest * (8 * 2**20 // len(rest)))
            assert connection.recv(12) == b"HTTP/1.1 400", name
            with contextlib.suppress(ConnectionError):
                while connection.recv(65_536):
                    pass
        spent[name] = cpu_seconds(service) - before
    assert {name: seconds for name, seconds in spent.items() if seconds > 0.5} == {}
