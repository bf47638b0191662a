"""The report of an import, as a page."""

from formats.html.error_page import people_text
from formats.html.frame import e, list_link, write_page
from formats.listing import Site
from storage.importer import ImportReport


def write(report: ImportReport, site: Site) -> str:
    """Return a page with the numbers, and with the line and reason of each skipped entry."""
    rows = "".join(
        f'<tr><td>{entry.line}</td><td dir="auto">{e(entry.value)}</td>'
        f"<td>{people_text(entry.reason)}</td></tr>\n"
        for entry in report.entries
    )
    table = (
        '<table>\n<caption>Skipped entries</caption>\n'
        '<thead><tr><th scope="col">Line</th><th scope="col">Entry</th>'
        f'<th scope="col">Reason</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n'
    )
    main = f'<p role="status">{_summary(report)}</p>\n{table if rows else ""}{list_link(site)}'
    return write_page("Imported", main, site)


def _summary(report: ImportReport) -> str:
    """Return the numbers of an import in words, without those that are 0."""
    numbers = {
        "added": report.created,
        "changed": report.updated,
        "known already": report.unchanged,
        "ignored": report.ignored,
        "skipped": report.skipped,
    }
    texts = [f"{number:,} {what}" for what, number in numbers.items() if number]
    return ", ".join(texts) or "Nothing was found to import"
