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

# Sizes are in bytes, times in seconds.
WAITRESS_SETTINGS: Mapping[str, object] = {
    "ident": "",  # Send no Server header.
    # Above the service's own limit, whose error is a problem document.
    "max_request_body_size": MAX_FILE + 2 * MAX_BODY,
    "channel_timeout": 60,
    "cleanup_interval": 10,
    # A larger response would keep a thread while a client reads slowly.
    "outbuf_high_watermark": 1024**3,
    # A connection takes up to three of the usual 1,024 descriptors.
    "connection_limit": 300,
}
READING_THREADS = 4
# An import may hold one of these for minutes.
WRITING_THREADS = 8
PROXY_HEADERS = "x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
STOP_SECONDS = 4.0  # The documentation promises 5 seconds.


def create_server(app: WSGIApplication, host: str, port: int, trusted_proxy: str | None) -> Any:
    """Return a server that SIGTERM or SIGINT ends after the current requests. Raises OSError."""
    import waitress  # Other commands need no server.

    from formats.http.waitress_fixes import Dispatcher, FixedChannel

    waitress.server.BaseWSGIServer.channel_class = FixedChannel
    # All threads inherit this mask, and one waits for the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    channels: dict[int, Any] = {}  # The connections by descriptor.
    settings = {**WAITRESS_SETTINGS, "host": host, "port": port, "map": channels}
    if trusted_proxy:
        settings["trusted_proxy"] = trusted_proxy
        settings["trusted_proxy_headers"] = PROXY_HEADERS
    try:
        dispatcher = Dispatcher(READING_THREADS, WRITING_THREADS)
        server = waitress.create_server(app, _dispatcher=dispatcher, **settings)
    except OSError as error:
        raise _cannot_listen(host, port, error.strerror) from error
    except ValueError as error:  # No name server knows the host.
        raise _cannot_listen(host, port, "the host name is unknown") from error
    stop = functools.partial(stop_on_signal, dispatcher, channels)
    threading.Thread(target=stop, daemon=True).start()
    return server


def _cannot_listen(host: str, port: int, reason: str | None) -> OSError:
    problem = f"Cannot listen on {host}:{port}: {reason}."
    return OSError(f"{problem} Choose another address with --listen.")


def stop_on_signal(tasks: Any, channels: Mapping[int, Any]) -> None:
    """Wait for a signal, then for unfinished responses, and end the process."""
    signal.sigwait(STOP_SIGNALS)
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.1)  # The event loop reads what arrived before the signal.
        if tasks.is_idle() and not _is_sending(channels):
            break
    # In this thread sys.exit would not end the process.
    os._exit(0)


def _is_sending(channels: Mapping[int, Any]) -> bool:
    for channel in list(channels.values()):
        # A listening socket lacks this attribute.
        if getattr(channel, "total_outbufs_len", 0):
            return True
    return False
