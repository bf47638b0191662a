"""The commands `bookmarks serve` and `bookmarks check`, and the options of all commands."""

import signal
import socket
import subprocess
import sys

import pytest
import webtest

import bookmarks
from tests.conftest import ROOT
from tests.storage.clients import ask


def exit_message(*arguments):
    with pytest.raises(SystemExit) as exit:
        bookmarks.main(arguments)
    return str(exit.value)


def test_listening_on_a_public_address_needs_a_token_or_no_auth(data):
    for address in ("0.0.0.0:8080", "[::]:8080", "192.0.2.1:80", "example.com:80"):
        message = exit_message("serve", "--data", str(data), "--listen", address)
        assert "--token-file (BOOKMARKS_TOKEN_FILE)" in message
        assert "--no-auth (BOOKMARKS_NO_AUTH=1)" in message


def test_listen_must_be_a_known_host_and_a_port(data, monkeypatch):
    for address in ("8080", ":8080", "localhost", "localhost:x", "127.0.0.1:٣", "::1:8080"):
        assert "HOST:PORT" in exit_message("--data", str(data), "--listen", address)

    def fail(*arguments):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(signal, "pthread_sigmask", lambda how, signals: None)
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    message = exit_message("--data", str(data), "--listen", "unknown.example:80", "--no-auth")
    assert "unknown.example:80: the host name is unknown" in message


def test_wrong_arguments_are_named(data, tmp_path, capsys):
    message = exit_message("--data", str(data), "--base-url", "http://[::1")
    assert "must be an address" in message and "'http://[::1'" in message
    assert "--data or BOOKMARKS_DATA is empty" in exit_message("check", "--data", "")
    assert exit_message("dance") == "2"
    assert "dance" in capsys.readouterr().err
    assert "cannot be read" in exit_message("check", "--data", str(tmp_path))
    missing = tmp_path / "no" / "data"
    message = exit_message("--data", str(missing))
    assert message.startswith(f"bookmarks: The folder {missing} cannot be created")
    assert str(missing.parent) in message


def test_a_token_file_must_exist_and_have_a_token_in_utf_8(data, tmp_path, monkeypatch):
    token = tmp_path / "token"
    message = exit_message("--data", str(data), "--token-file", str(token))
    assert message == f"bookmarks: {token}: No such file or directory"
    for text in ("", "\n", " # comment\n\n#secret\n"):
        token.write_text(text)
        assert "no token" in exit_message("--data", str(data), "--token-file", str(token))
    token.write_bytes(b"\xff")
    assert "UTF-8" in exit_message("--data", str(data), "--token-file", str(token))
    monkeypatch.setenv("BOOKMARKS_TOKEN", " \n")
    assert "token must not be empty" in exit_message("--data", str(data))
    monkeypatch.setenv("BOOKMARKS_TOKEN_FILE", "")
    assert "BOOKMARKS_TOKEN_FILE is empty" in exit_message("--data", str(data))


def test_a_port_that_is_in_use_is_named_in_one_line(data):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, str(ROOT / "bookmarks.py"), "--listen", address]
        process = subprocess.run([*command, "--data", data], capture_output=True, text=True)
    problem = f"bookmarks: Cannot listen on {address}: Address already in use."
    assert process.stderr == f"{problem} Choose another address with --listen.\n"
    assert process.returncode == 1


def test_the_help_names_defaults_and_variables(capsys):
    for command in ("serve", "add", "delete", "tag", "import", "export", "check"):
        assert exit_message(command, "--help") == "0"
        text = capsys.readouterr().out
        assert "(default: data; BOOKMARKS_DATA)" in text
        assert "None" not in text
    assert exit_message("--version") == "0"
    assert capsys.readouterr().out == f"bookmarks {bookmarks.__version__}\n"


def test_environment_variables_set_the_options_of_serve(serve, tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n")
    service = serve(BOOKMARKS_TOKEN_FILE=str(token), BOOKMARKS_PUBLIC_READ="1")
    assert ask(service.address).headers["Cache-Control"] == "private, no-cache"
    body = {"uri": "https://a.example/"}
    assert ask(service.address, "POST", body=body).status == 401
    assert ask(service.address, "POST", body=body, Authorization="Bearer secret").status == 201


def test_an_empty_environment_variable_counts_as_absent(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOKMARKS_DATA", "")
    (tmp_path / "list").write_text("https://a.example/\n")
    assert bookmarks.main(["import", "list"]) == 0
    assert len(list((tmp_path / "data" / "bookmarks").iterdir())) == 1


def test_the_first_request_configures_the_application_from_the_environment(data, monkeypatch, add):
    bookmark = add("https://a.example/")
    monkeypatch.setenv("BOOKMARKS_DATA", str(data))
    bookmarks._default_application.cache_clear()
    app = webtest.TestApp(bookmarks.application)
    assert app.get("/", status=200).json == [bookmark]
    bookmarks._default_application.cache_clear()
    monkeypatch.setenv("BOOKMARKS_KEEP_DELETED", "x")
    with pytest.raises(RuntimeError, match="The environment does not configure the service."):
        app.get("/")
