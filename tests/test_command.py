"""The command line: what it refuses, and where it takes its options from."""

import gc
import json
import signal
import urllib.request

import pytest

import bookmarks


def refusal(*arguments):
    """What the command says as it refuses to run."""
    with pytest.raises(SystemExit) as refused:
        bookmarks.main(arguments)
    return str(refused.value)


@pytest.mark.parametrize("address", ["0.0.0.0:8080", "[::]:8080", "192.0.2.1:80", "example.com:80"])
def test_an_address_that_others_reach_needs_a_token_or_a_word(data, address):
    said = refusal("serve", "--data", str(data), "--listen", address)
    assert "--token-file" in said
    assert "--no-auth" in said


@pytest.mark.parametrize(
    "address", ["8080", ":8080", "localhost", "localhost:x", "127.0.0.1:99999", "127.0.0.1:٣"]
)
def test_an_address_is_a_host_and_a_port(data, address):
    assert "HOST:PORT" in refusal("--data", str(data), "--listen", address)


def test_the_base_address_is_an_address(data):
    assert "must be an address" in refusal("--data", str(data), "--base-url", "http://[::1")


def test_a_token_file_must_be_there_and_say_something(data, tmp_path):
    token = tmp_path / "token"
    assert "token" in refusal("--data", str(data), "--token-file", str(token))
    token.write_text("\n")
    assert "empty" in refusal("--data", str(data), "--token-file", str(token))
    token.write_bytes(b"\xff")
    assert "UTF-8" in refusal("--data", str(data), "--token-file", str(token))


def test_a_folder_that_cannot_be_made_is_named_as_the_reason(tmp_path):
    assert "No such file" in refusal("--data", str(tmp_path / "no" / "data"))


def test_an_unknown_command_is_refused(capsys):
    assert refusal("dance") == "2"
    assert "dance" in capsys.readouterr().err


def test_check_prints_each_finding_and_its_status_says_whether_there_is_one(add, data, capsys):
    bookmark = add()
    assert bookmarks.main(["check", "--data", str(data)]) == 0
    assert capsys.readouterr().out == ""
    broken = data / "bookmarks" / "broken.json"
    broken.write_text("{")
    assert bookmarks.main(["check", "--data", str(data), "--repair"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{broken}: is no bookmark")
    assert (data / "bookmarks" / f"{bookmark['id']}.json").exists()


def test_check_of_no_folder_is_an_error(tmp_path):
    assert "cannot be read" in refusal("check", "--data", str(tmp_path))


def test_it_is_configured_by_the_environment(serve, tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n")
    service = serve(BOOKMARKS_TOKEN_FILE=str(token), BOOKMARKS_PUBLIC_READ="1")
    with urllib.request.urlopen(service.address + "/") as response:
        assert response.headers["Cache-Control"] == "private, no-cache"
    request = urllib.request.Request(
        service.address + "/",
        json.dumps({"uri": "https://a.example/"}).encode(),
        {"Content-Type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 401
    refused.value.close()
    request.add_header("Authorization", "Bearer secret")
    with urllib.request.urlopen(request) as response:
        assert response.status == 201


def test_a_variable_without_a_value_says_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOKMARKS_DATA", "")
    (tmp_path / "list").write_text("https://a.example/\n")
    assert bookmarks.main(["import", "list"]) == 0
    assert len(list((tmp_path / "data" / "bookmarks").iterdir())) == 1


def test_the_application_is_configured_by_the_environment_at_its_first_request(
    data, monkeypatch, add
):
    add("https://there.example/")
    monkeypatch.setenv("BOOKMARKS_DATA", str(data))
    bookmarks._default.cache_clear()
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
    }
    statuses = []
    body = b"".join(bookmarks.application(environ, lambda status, headers: statuses.append(status)))
    bookmarks._default.cache_clear()
    assert statuses == ["200 OK"]
    assert [b["uri"] for b in json.loads(body)] == ["https://there.example/"]


def test_the_command_serves(data, monkeypatch):
    """In this process, so that what it sets up is seen: the real server, stopped at once."""
    import waitress

    made = []
    create = waitress.create_server

    def create_and_stop(*arguments, **options):
        server = create(*arguments, **options)
        made.append(server)
        monkeypatch.setattr(server, "run", server.close)
        return server

    monkeypatch.setattr(waitress, "create_server", create_and_stop)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda how, signals: None)
    monkeypatch.setattr(bookmarks, "_stop_on_signal", lambda tasks, channels: None)
    assert bookmarks.main(["--data", str(data), "--listen", "127.0.0.1:0"]) == 0
    assert made[0].adj.max_request_body_size >= 32 * 2**20
    assert made[0].adj.ident is None
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
