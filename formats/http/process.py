"""The server process: waitress and its settings, open files and signals."""

import functools
import os
import resource
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any
from wsgiref.types import WSGIApplication

from formats.http.request import MAX_FILE

# Settings of waitress, in bytes and seconds.
WAITRESS: Mapping[str, object] = {
    "ident": "",  # No Server header.
    "max_request_body_size": 2 * MAX_FILE,  # Below it, the service itself refuses bodies.
    "channel_timeout": 60,
    "cleanup_interval": 10,
    # Below this size, a response that the client reads slowly is buffered and holds no thread.
    "outbuf_high_watermark": 1024**3,
}
PROXY_HEADERS = "x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto"
MAX_CONNECTIONS = 300
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
STOP_SECONDS = 4.0


def waitress_settings(host: str, port: int, trusted_proxy: str | None) -> dict[str, object]:
    """Return the settings of a server that listens on this address."""
    settings = {**WAITRESS, "host": host, "port": port}
    if trusted_proxy:
        settings |= {"trusted_proxy": trusted_proxy, "trusted_proxy_headers": PROXY_HEADERS}
    return settings


def create_server(app: WSGIApplication, settings: Mapping[str, object]) -> Any:
    """Return a waitress server that SIGTERM and SIGINT end in an orderly way.

    Raises OSError if it cannot listen on the address in the settings.
    """
    import waitress

    from formats.http.waitress_fixes import FixedChannel

    waitress.server.BaseWSGIServer.channel_class = FixedChannel
    # All threads inherit this mask, so that no signal interrupts them; one thread waits for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    channels: dict[int, Any] = {}
    limit = connection_limit()
    try:
        server = waitress.create_server(app, map=channels, connection_limit=limit, **settings)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "the host name is unknown")
        problem = "Cannot listen on {host}:{port}".format(**settings)
        raise OSError(f"{problem}: {reason}. Choose another address with --listen.") from error
    stop = functools.partial(stop_on_signal, server.task_dispatcher, channels)
    threading.Thread(target=stop, daemon=True).start()
    return server


def connection_limit() -> int:
    """Return how many connections the limit of open files allows.

    A connection takes up to three descriptors: a socket, and temporary files for a long request
    and a long response. 64 descriptors are left for the data folder and the libraries.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    is_limited = files != resource.RLIM_INFINITY
    return max(10, min(MAX_CONNECTIONS, (files - 64) // 3)) if is_limited else MAX_CONNECTIONS


def stop_on_signal(tasks: Any, channels: Mapping[int, Any]) -> None:
    """Wait for SIGTERM or SIGINT, then for unfinished responses, and end the process.

    `tasks` is waitress' task dispatcher and `channels` its connections. The signals are blocked
    in every thread, so that none interrupts a write. Acknowledged writes are durable, so there is
    nothing to clean up.
    """
    signal.sigwait(STOP_SIGNALS)
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.1)  # The event loop may not have read yet what arrived before the signal.
        unsent = (getattr(channel, "total_outbufs_len", 0) for channel in list(channels.values()))
        if not (tasks.queue or tasks.active_count or any(unsent)):
            break
    os._exit(0)
