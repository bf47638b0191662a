"""The report of an import, as a page."""

import re
from collections.abc import Iterator

from formats.html.frame import END, begin, e, list_link
from formats.html.view import View
from storage.importer import ImportReport


def write(report: ImportReport, view: View) -> Iterator[bytes]:
    """Write a page with the numbers, and with the line and reason of each skipped entry."""
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
    yield (
        f'{begin("Imported", view.site)}<main id="main" class="single">\n<h1>Imported</h1>\n'
        f'<p role="status">{e(report.summary())}</p>\n{table if rows else ""}'
        f"{list_link(view.site)}</main>\n{END}"
    ).encode()
