"""What the server itself answers: refusals, and how it ends what has no body."""

from formats import http, problem
from formats.view import View


def refusing(error_task: type) -> type:
    """waitress's task for a request that it cannot read, answering like everything else here."""

    class Refusing(error_task):  # type: ignore[misc]
        def execute(self) -> None:
            error = self.request.error
            told = problem.Problem(error.code, f"The server refuses this: {error.body[:500]}")
            media_type, body = problem.write(problem.MEDIA_TYPES[0], told, View(""))
            self.status = f"{told.status} {told.title}"
            self.response_headers += http.finished(
                http.body_response(media_type, body), "no-cache"
            ).headerlist
            self.content_length = len(body)
            self.set_close_on_finish()
            self.write(body)

    return Refusing


def bodiless(task: type) -> type:
    """waitress's task for any other request, sending nothing at all after the headers of HEAD."""

    class Bodiless(task):  # type: ignore[misc]
        def build_response_header(self) -> bytes:
            headers: bytes = super().build_response_header()
            if self.request.command == "HEAD":  # Else it ends a chunked body that isn't there.
                self.chunked_response = False
            return headers

    return Bodiless
