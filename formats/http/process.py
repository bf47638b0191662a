"""The server process: waitress and its settings, and signals."""

import functools
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any
from wsgiref.types import WSGIApplication

from formats.http.request import MAX_BODY, MAX_FILE

# The settings of waitress. Sizes are in bytes, times in seconds.
WAITRESS_SETTINGS: Mapping[str, object] = {
    "ident": "",  # Send no Server header.
    # Larger than the service's own limits, whose errors are problem documents. waitress
    # responds with plain text.
    "max_request_body_size": MAX_FILE + 2 * MAX_BODY,
    "channel_timeout": 60,
    "cleanup_interval": 10,
    # With more than this unsent, a thread waits for its slow client.
    "outbuf_high_watermark": 1024**3,
    # A connection needs up to 3 file descriptors, of usually 1,024.
    "connection_limit": 300,
}
READING_THREADS = 4
WRITING_THREADS = 8  # An import may take minutes.
PROXY_HEADERS = "x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
STOP_SECONDS = 4.0


def create_server(app: WSGIApplication, host: str, port: int, trusted_proxy: str | None) -> Any:
    """Return a server, which SIGTERM or SIGINT ends after the current requests.

    Raises OSError if it cannot listen.
    """
    import waitress  # Other commands start faster without it.

    from formats.http.waitress_fixes import Dispatcher, FixedChannel

    waitress.server.BaseWSGIServer.channel_class = FixedChannel
    # All threads inherit this mask, so only `sigwait` receives the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    channels: dict[int, Any] = {}  # waitress keeps its connections in this dict.
    settings = {**WAITRESS_SETTINGS, "host": host, "port": port, "map": channels}
    if trusted_proxy:
        settings["trusted_proxy"] = trusted_proxy
        settings["trusted_proxy_headers"] = PROXY_HEADERS
    try:
        dispatcher = Dispatcher(READING_THREADS, WRITING_THREADS)
        server = waitress.create_server(app, _dispatcher=dispatcher, **settings)
    except OSError as error:
        raise _cannot_listen(host, port, error.strerror) from error
    except ValueError as error:
        raise _cannot_listen(host, port, "the host name is unknown") from error
    stop = functools.partial(stop_on_signal, dispatcher, channels)
    threading.Thread(target=stop, daemon=True).start()
    return server


def _cannot_listen(host: str, port: int, reason: str | None) -> OSError:
    problem = f"Cannot listen on {host}:{port}: {reason}."
    return OSError(f"{problem} Choose another address with --listen.")


def stop_on_signal(dispatcher: Any, channels: Mapping[int, Any]) -> None:
    """Wait for a signal, then for unfinished responses, and end the process."""
    signal.sigwait(STOP_SIGNALS)
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.1)  # The main thread reads requests that have arrived.
        if dispatcher.is_idle() and not _is_sending(channels):
            break
    # `sys.exit` would end only this thread.
    os._exit(0)


def _is_sending(channels: Mapping[int, Any]) -> bool:
    for channel in list(channels.values()):
        # The listening socket lacks this attribute.
        if getattr(channel, "total_outbufs_len", 0):
            return True
    return False
