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
    # More than the service's own limit of a file in a form, so that the service itself refuses a
    # body that is a little too long, with a problem document. waitress stores the body of a request
    # before the service can check its token, and refuses a longer one at once, with plain text.
    "max_request_body_size": MAX_FILE + 2 * MAX_BODY,
    # Every 10 seconds, waitress closes the connections that were silent for a minute.
    "channel_timeout": 60,
    "cleanup_interval": 10,
    # If a client reads slowly, waitress keeps up to this size of the response in a temporary
    # file. For a larger response a thread would wait, and could serve no other client meanwhile.
    "outbuf_high_watermark": 1024**3,
    # A connection takes up to three descriptors: a socket, and temporary files for a long request
    # and a long response. The kernel usually lets a process have 1,024 descriptors.
    "connection_limit": 300,
}
READING_THREADS = 4
# Imports take minutes, and each holds one of these threads. Others wait in a queue.
WRITING_THREADS = 8
# From these headers of a trusted proxy, waitress takes the client's and the service's addresses.
PROXY_HEADERS = "x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
STOP_SECONDS = 4.0  # The documentation promises that a stopped service ends within 5 seconds.


def create_server(app: WSGIApplication, host: str, port: int, trusted_proxy: str | None) -> Any:
    """Return a waitress server. SIGTERM or SIGINT ends it after the current requests.

    Raises OSError if it cannot listen on the address.
    """
    import waitress  # Imported here, because the other commands need no server.

    from formats.http.waitress_fixes import Dispatcher, FixedChannel

    waitress.server.BaseWSGIServer.channel_class = FixedChannel
    # Block the signals in this thread, and in all that start later: no write is interrupted. Only
    # the thread of `stop_on_signal` waits for the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    channels: dict[int, Any] = {}  # waitress fills it: its connections by descriptor.
    settings = {**WAITRESS_SETTINGS, "host": host, "port": port, "map": channels}
    if trusted_proxy:
        settings |= {"trusted_proxy": trusted_proxy, "trusted_proxy_headers": PROXY_HEADERS}
    try:
        dispatcher = Dispatcher(READING_THREADS, WRITING_THREADS)
        server = waitress.create_server(app, _dispatcher=dispatcher, **settings)
    except (OSError, ValueError) as error:
        # waitress raises ValueError for a host name that no name server knows.
        reason = error.strerror if isinstance(error, OSError) else "the host name is unknown"
        problem = f"Cannot listen on {host}:{port}: {reason}."
        raise OSError(f"{problem} Choose another address with --listen.") from error
    stop = functools.partial(stop_on_signal, dispatcher, channels)
    threading.Thread(target=stop, daemon=True).start()
    return server


def stop_on_signal(tasks: Any, channels: Mapping[int, Any]) -> None:
    """Wait for SIGTERM or SIGINT, then for unfinished responses, and end the process.

    `tasks` is the task dispatcher, `channels` has waitress' connections by descriptor.
    """
    signal.sigwait(STOP_SIGNALS)
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.1)  # Let the event loop read what arrived before the signal.
        # Listening sockets are in `channels` too. They send nothing, and lack this attribute.
        unsent = (getattr(channel, "total_outbufs_len", 0) for channel in list(channels.values()))
        if tasks.is_idle() and not any(unsent):
            break
    # In this thread sys.exit would not end the process. Each stored change is durable already.
    os._exit(0)
