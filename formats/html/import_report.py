"""The report of an import, as a page."""

from formats.html.error_page import people_text
from formats.html.frame import e, list_link, number_of, write_page
from formats.listing import Site
from storage.importer import ImportReport


def write(report: ImportReport, site: Site) -> str:
    summary = _summary(report)
    entries = _entries(report)
    not_read = _not_read(report)
    main = f'<p role="status">{summary}</p>\n{entries}{not_read}{list_link(site)}'
    heading = "Nothing new"
    if report.created or report.updated:
        heading = "Imported"
    return write_page(heading, main, site)


def _entries(report: ImportReport) -> str:
    if not report.entries:
        return ""
    items = ""
    for entry in report.entries:
        place = e(str(entry.place or ""))
        if entry.line:
            place = f"line {entry.line}"
        reason = people_text(entry.reason)
        reason = reason[:1].upper() + reason[1:]
        items += (
            f'<li><p><strong dir="auto">{e(entry.value)}</strong> <span>{place}</span></p>\n'
            f"<p><span>{reason}</span></p></li>\n"
        )
    return (
        "<h2>Entries that were skipped or changed</h2>\n"
        f'<ul class="report">\n{items}</ul>\n'
    )


def _not_read(report: ImportReport) -> str:
    if not report.not_read:
        return ""
    names = []
    for name, number in report.not_read.items():
        values = number_of(number, "value")
        names.append(f"<bdi>{e(name)}</bdi> ({values})")
    all_names = ", ".join(names)
    return f"<p>Not read: {all_names}</p>\n"


def _summary(report: ImportReport) -> str:
    """Return a text such as `3 added, 1 skipped`."""
    numbers = {
        "added": report.created,
        "changed": report.updated,
        "already there": report.unchanged,
        "ignored": report.ignored,
        "skipped": report.skipped,
        "stored with changes": report.noted,
    }
    texts = [f"{number:,} {what}" for what, number in numbers.items() if number]
    if not texts:
        return "Nothing was found to import"
    if report.unchanged > 1 and len(texts) == 1:
        return f"All {report.unchanged:,} were there already"
    return ", ".join(texts)
