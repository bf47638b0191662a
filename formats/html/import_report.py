"""The report of an import, as a page."""

from formats.html.error_page import people_text
from formats.html.frame import e, list_link, number_of, write_page
from formats.html.parts import host_html, page_link
from formats.listing import Site
from storage.importer import Importer, ImportReport


def write(importer: Importer, site: Site) -> str:
    report = importer.report
    summary = _summary(report)
    entries = _entries(report)
    not_read = _not_read(report)
    created = _created(importer, site)
    main = f'<p role="status">{summary}</p>\n{entries}{not_read}{created}{list_link(site)}'
    return write_page("Imported", main, site)


def _entries(report: ImportReport) -> str:
    if not report.entries:
        return ""
    items = ""
    for entry in report.entries:
        place = e(str(entry.place))
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


def _created(importer: Importer, site: Site) -> str:
    linked = importer.first_created
    if not linked:
        return ""
    items = ""
    for bookmark in linked:
        items += f"<li>{page_link(bookmark, site)} {host_html(bookmark.uri)}</li>\n"
    more = ""
    number_of_others = importer.report.created - len(linked)
    if number_of_others:
        more = f"<p>And {number_of_others:,} more.</p>\n"
    return f'<h2>Added</h2>\n<ol>\n{items}</ol>\n{more}'


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
    return ", ".join(texts) or "Nothing was found to import"
