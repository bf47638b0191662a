"""The server process: waitress, its settings, and signals."""

import functools
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any
from wsgiref.types import WSGIApplication

from formats.http.request import MAX_BODY, MAX_FILE

WAITRESS_SETTINGS: Mapping[str, object] = {
    "ident": "",  # Send no Server header.
    # This exceeds the limits of the service: waitress would refuse a large body in plain text.
    "max_request_body_size": MAX_FILE + 2 * MAX_BODY,
    "channel_timeout": 60,
    "cleanup_interval": 10,
    # A response larger than this would keep its thread busy until it is sent.
    "outbuf_high_watermark": 1024**3,
    # A process may usually open 1,024 files, and a connection needs up to 3 of them.
    "connection_limit": 300,
}
READING_THREADS = 4
WRITING_THREADS = 8  # An import may keep a thread busy for minutes.
PROXY_HEADERS = "x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
STOP_SECONDS = 4.0


def create_server(app: WSGIApplication, host: str, port: int, trusted_proxy: str | None) -> Any:
    """Return a server, which stops on SIGTERM or SIGINT. Raises OSError."""
    # Imported here, so that other commands start faster.
    from formats.http.waitress_fixes import Dispatcher

    # `stop_on_signal` waits for these signals with `sigwait`, so they must be blocked.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    dispatcher = Dispatcher(READING_THREADS, WRITING_THREADS)
    channels: dict[int, Any] = {}  # waitress adds its open connections.
    settings = {
        **WAITRESS_SETTINGS,
        "map": channels,
        "_dispatcher": dispatcher,  # waitress has no public setting for it.
    }
    if trusted_proxy:
        settings["trusted_proxy"] = trusted_proxy
        settings["trusted_proxy_headers"] = PROXY_HEADERS
    server = _listen(app, host, port, settings)
    stop = functools.partial(stop_on_signal, dispatcher, channels)
    threading.Thread(target=stop, daemon=True).start()
    return server


def _listen(
    app: WSGIApplication, host: str, port: int, settings: Mapping[str, object]
) -> Any:
    import waitress

    from formats.http.waitress_fixes import GuardedChannel

    # waitress has no setting for this class.
    waitress.server.BaseWSGIServer.channel_class = GuardedChannel
    try:
        return waitress.create_server(app, host=host, port=port, **settings)
    except OSError as error:
        raise _cannot_listen(host, port, error.strerror) from error
    except ValueError as error:
        raise _cannot_listen(host, port, "the host name is unknown") from error


def _cannot_listen(host: str, port: int, reason: str | None) -> OSError:
    problem = f"Cannot listen on {host}:{port}: {reason}."
    return OSError(f"{problem} Choose another address with --listen.")


def stop_on_signal(dispatcher: Any, channels: Mapping[int, Any]) -> None:
    """Wait for a signal and for unfinished responses, and end the process."""
    signal.sigwait(STOP_SIGNALS)
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if dispatcher.is_idle() and not _is_sending(channels):
            break
    os._exit(0)  # `sys.exit` would end only this thread.


def _is_sending(channels: Mapping[int, Any]) -> bool:
    # waitress also adds the listening socket, which has no `total_outbufs_len`.
    return any(getattr(channel, "total_outbufs_len", 0) for channel in list(channels.values()))
