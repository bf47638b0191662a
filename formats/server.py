"""What waitress answers by itself, or ends an answer with, made to be as all answers here are."""

from types import ModuleType

from formats import http, problem
from formats.view import View


def answer_as_here(waitress: ModuleType) -> None:
    """Has waitress refuse by problem documents, and send nothing after the headers of HEAD."""
    channel, task = waitress.channel.HTTPChannel, waitress.task
    channel.error_task_class = _refusing(task.ErrorTask)
    channel.task_class = _bodiless(task.WSGITask)


def _refusing(error_task: type) -> type:
    """The task for a request that it cannot read."""

    class Refusing(error_task):  # type: ignore[misc]
        def execute(self) -> None:
            error = self.request.error
            told = problem.Problem(error.code, f"The server refuses this: {error.body[:500]}")
            media_type, body = problem.write(problem.MEDIA_TYPES[0], told, View(""))
            answer = http.finished(http.body_response(media_type, body), "no-cache")
            self.status = f"{told.status} {told.title}"
            self.response_headers += answer.headerlist
            self.content_length = len(body)
            self.set_close_on_finish()
            self.write(body)

    return Refusing


def _bodiless(task: type) -> type:
    """The task for any other request."""

    class Bodiless(task):  # type: ignore[misc]
        def build_response_header(self) -> bytes:
            headers: bytes = super().build_response_header()
            if self.request.command == "HEAD":  # Else it ends a chunked body that isn't there.
                self.chunked_response = False
            return headers

    return Bodiless
