"""Import bookmarks: create each, or update the one that has its uri."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, cast

import msgspec

from storage.batch import Done, Failed, StateCheck, change_batch, split
from storage.bookmark import (
    ID,
    MAX_TAGS,
    Fields,
    create,
    cut_and_replace_unprintable,
    merge,
    replace_invalid_xml_chars,
    tags_without,
)
from storage.errors import Gone, Invalid, Unreadable
from storage.lenient import clean_leniently
from storage.store import Store
from storage.transaction import Transaction

MAX_ENTRIES_WITHOUT_BOOKMARK = 100_000  # Refusing 100,000 wrong uris takes up to 6 seconds.
MAX_REPORTED_ENTRIES = 10_000
MAX_VALUE_LENGTH = 200
MAX_PATH_LENGTH = 1_000

# The report only counts entries with these skip reasons:
IGNORED = "is no bookmark"  # Such as a separator.
NOT_READ = "is not read"  # `fields` has counts of values that no reader uses, as in {"icon": 12}.
# MAX_REPORTED_ENTRIES does not limit entries whose skip reason begins like this:
REST_NOT_READ = "The rest cannot be read"
_TOO_MANY_TEXT = (
    f"The rest of the request is not read, because {MAX_ENTRIES_WITHOUT_BOOKMARK:,} entries "
    "have no bookmark. Use `bookmarks import` on the server"
)

NOTE = "note"  # The name of a field that is reported, not stored.

Place = int | str  # A line, or a path like `bookmarks[3].children[0]`.


class ImportedEntry(NamedTuple):
    """An entry of an imported file, not checked yet."""

    place: Place  # The line 0 means the whole file.
    fields: dict[str, object]
    skip_reason: str = ""


class _Imported(NamedTuple):
    change: Literal["created", "updated", "unchanged"]
    notes: list[str]  # Such as "title is cut to 4,096 characters".


_Outcome = Done[ImportedEntry, _Imported] | Failed[ImportedEntry]


class ReportedEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An entry that was skipped, or stored with changes."""

    line: int = 0
    path: str = ""
    value: str  # The uri or title.
    reason: str

    @property
    def place(self) -> Place:
        return self.path or self.line


class ImportReport(msgspec.Struct):
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    ignored: int = 0  # Separators and other entries that are no bookmarks.
    skipped: int = 0
    noted: int = 0  # Entries stored with a value changed or left out.
    entries: list[ReportedEntry] = []  # The first skipped and noted entries.
    not_read: dict[str, int] = {}  # Counts of unread values by column or JSON member.

    def summary(self) -> str:
        numbers = (
            f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged, "
            f"{self.ignored} ignored, {self.skipped} skipped"
        )
        if self.noted:
            numbers += f", {self.noted} noted"
        return numbers


class Importer:
    """Import entries of files. Methods raise Busy, Full or Unavailable.

    `check_state` is called before the first change.
    """

    def __init__(self, store: Store, check_state: StateCheck | None = None) -> None:
        self.report = ImportReport()
        self._store = store
        self._check_state = check_state

    def import_all(self, entries: Iterable[ImportedEntry]) -> ImportReport:
        """Import entries until MAX_ENTRIES_WITHOUT_BOOKMARK of them are ignored or skipped."""
        for batch in split(entries):
            count = self.report.ignored + self.report.skipped
            # The last entries of a file are counts of unused values.
            has_only_counts = batch[0].skip_reason == NOT_READ
            if count >= MAX_ENTRIES_WITHOUT_BOOKMARK and not has_only_counts:
                self._report_skipped(ImportedEntry(place=0, fields={}), _TOO_MANY_TEXT)
                break
            self.import_batch(batch)
        return self.report

    def import_batch(self, entries: Sequence[ImportedEntry]) -> None:
        """Import entries in one transaction."""
        bookmarks = [entry for entry in entries if not entry.skip_reason]
        outcomes = iter(self._import_bookmarks(bookmarks))
        # Report in the order of the file.
        for entry in entries:
            if entry.skip_reason == IGNORED:
                self.report.ignored += 1
            elif entry.skip_reason == NOT_READ:
                self._count_values_not_read(entry.fields)
            elif entry.skip_reason:
                self._report_skipped(entry, entry.skip_reason)
            else:
                self._report_outcome(next(outcomes))

    def _import_bookmarks(self, bookmarks: Sequence[ImportedEntry]) -> list[_Outcome]:
        if not bookmarks:
            return []
        outcomes = change_batch(self._store, bookmarks, _import_one, self._check_state)
        self._check_state = None
        return outcomes

    def _report_outcome(self, outcome: _Outcome) -> None:
        match outcome:
            case Failed(entry, error):
                self._report_skipped(entry, str(error))
            case Done(entry, imported):
                self._report_stored(imported)
                if imported.notes:
                    self._report_noted(entry, imported.notes)

    def _report_stored(self, imported: _Imported) -> None:
        if imported.change == "created":
            self.report.created += 1
        elif imported.change == "updated":
            self.report.updated += 1
        else:
            self.report.unchanged += 1

    def _count_values_not_read(self, counts: Mapping[str, object]) -> None:
        for name, count in counts.items():
            shown = cut_and_replace_unprintable(name)
            earlier = self.report.not_read.get(shown, 0)
            self.report.not_read[shown] = earlier + cast(int, count)

    def _report_skipped(self, entry: ImportedEntry, reason: str) -> None:
        self.report.skipped += 1
        is_about_file = entry.place == 0 or reason.startswith(REST_NOT_READ)
        if is_about_file or self.report.skipped <= MAX_REPORTED_ENTRIES:
            self._report_entry(entry, reason)

    def _report_noted(self, entry: ImportedEntry, notes: Sequence[str]) -> None:
        self.report.noted += 1
        if self.report.noted <= MAX_REPORTED_ENTRIES:
            self._report_entry(entry, f"stored, but {'; '.join(notes)}")

    def _report_entry(self, entry: ImportedEntry, reason: str) -> None:
        value = str(entry.fields.get("uri") or entry.fields.get("title") or "")
        value = replace_invalid_xml_chars(value[:MAX_VALUE_LENGTH])
        reported = ReportedEntry(value=value, reason=reason)
        if isinstance(entry.place, int):
            reported.line = entry.place
        else:
            reported.path = entry.place[:MAX_PATH_LENGTH]
        self.report.entries.append(reported)


def _import_one(transaction: Transaction, entry: ImportedEntry) -> _Imported:
    fields, notes = _clean_entry(entry.fields)
    before = transaction.holder(fields["uri"])
    if before is None:
        transaction.put(create(fields, _choose_id(transaction, fields)))
        return _Imported("created", notes)
    after = merge(before.bookmark, fields)
    transaction.put(after, before)
    left_out = tags_without(fields.get("tags", ()), after.tags)
    if left_out:
        shown = cut_and_replace_unprintable(", ".join(left_out))
        notes.append(
            f"{len(left_out)} of tags left out, because together with the stored tags there are "
            f"more than {MAX_TAGS}: {shown}"
        )
    # `merge` returns the same object if nothing changes.
    if after is before.bookmark:
        return _Imported("unchanged", notes)
    return _Imported("updated", notes)


def _clean_entry(values: Mapping[str, object]) -> tuple[Fields, list[str]]:
    fields = dict(values)
    note = fields.pop(NOTE, None)
    id = fields.get("id")
    if not isinstance(id, str) or not ID.fullmatch(id):  # An id of another program.
        fields.pop("id", None)
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    cleaned, notes = clean_leniently(fields)
    if note:
        notes.append(str(note))
    return cleaned, notes


def _choose_id(transaction: Transaction, fields: Fields) -> str:
    id = fields.get("id")
    if id and _is_free(transaction, id):
        return str(id)
    return transaction.mint()


def _is_free(transaction: Transaction, id: str) -> bool:
    try:
        return transaction.find(id) is None
    except (Gone, Unreadable):
        return False
