"""The report of an import, as JSON or as a page."""

import msgspec

from formats import html
from formats.view import View
from storage.merge import Report

MEDIA_TYPES = ("application/json", "text/html")


def write(media_type: str, report: Report, view: View) -> tuple[str, bytes]:
    """Return the media type to send and the document."""
    if media_type == "text/html":
        rows = [(e.line, e.value, e.reason) for e in report.entries]
        return html.MEDIA_TYPE, html.write_report(summary(report), rows, view)
    return MEDIA_TYPES[0], msgspec.json.encode(report) + b"\n"


def summary(report: Report) -> str:
    """Return the numbers in one line."""
    return (
        f"{report.created} created, {report.updated} updated, {report.unchanged} unchanged, "
        f"{report.skipped} skipped"
    )
