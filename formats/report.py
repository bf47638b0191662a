"""What became of an imported file, for a program and for a person."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from formats import html
from formats.view import View

MEDIA_TYPES = ("application/json", "text/html")


class Skipped(Protocol):
    """An entry that was not taken: its line, what it is, and why."""

    line: int
    value: str
    reason: str


class Report(Protocol):
    """How many entries were created, updated, unchanged and skipped; `entries` names the last."""

    created: int
    updated: int
    unchanged: int
    skipped: int

    @property
    def entries(self) -> Sequence[Skipped]: ...


def write(media_type: str, report: Report, view: View) -> tuple[str, bytes]:
    """The media type to send and the document."""
    if media_type == "text/html":
        rows = [(e.line, e.value, e.reason) for e in report.entries]
        return html.MEDIA_TYPE, html.write_report(summary(report), rows, view)
    return MEDIA_TYPES[0], msgspec.json.encode(report) + b"\n"


def summary(report: Report) -> str:
    """The numbers in a line."""
    return (
        f"{report.created} created, {report.updated} updated, {report.unchanged} unchanged, "
        f"{report.skipped} skipped"
    )
