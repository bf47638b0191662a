"""The report of an import, as a page or as JSON."""

import re

import msgspec

from formats.base_url import BaseUrl
from formats.html import MEDIA_TYPE
from formats.html.frame import END, begin, e, list_link
from storage.importer import ImportReport

# The first media type is the default for clients that accept both.
MEDIA_TYPES = ("application/json", "text/html")


def write_report(media_type: str, report: ImportReport, base: BaseUrl) -> tuple[str, bytes]:
    """Return the value of Content-Type and the report in the media type that was negotiated."""
    if media_type == "text/html":
        return MEDIA_TYPE, _page(report, base).encode()
    return "application/json", msgspec.json.encode(report) + b"\n"


def _page(report: ImportReport, base: BaseUrl) -> str:
    """Return a page with the numbers, and with the line and reason of each skipped entry."""
    # Reasons such as "uri must be …" have the API's name of the field, which pages call "Address".
    rows = "".join(
        f'<tr><td>{entry.line}</td><td dir="auto">{e(entry.value)}</td>'
        f"<td>{e(re.sub('^uri ', 'Address ', entry.reason))}</td></tr>\n"
        for entry in report.entries
    )
    table = (
        '<table class="skipped">\n<caption>Skipped entries</caption>\n'
        '<thead><tr><th scope="col">Line</th><th scope="col">Entry</th>'
        f'<th scope="col">Reason</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n'
    )
    return (
        f'{begin("Imported", base)}<main id="main" class="single">\n<h1>Imported</h1>\n'
        f'<p role="status">{e(report.summary())}</p>\n{table if rows else ""}'
        f"{list_link(base)}</main>\n{END}"
    )
