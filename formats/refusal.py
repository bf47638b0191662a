"""What the server itself refuses, before the application is asked."""

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
