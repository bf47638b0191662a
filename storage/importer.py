"""Import bookmarks in batches: create each, or update the bookmark that has its uri."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, cast

import msgspec

from storage.batch import Condition, Done, Failed, change_batch, split
from storage.bookmark import (
    ID,
    MAX_TAGS,
    Bookmark,
    Fields,
    create,
    cut_and_replace_unprintable,
    fold_tag,
    merge,
    replace_invalid_xml_chars,
)
from storage.errors import Gone, Invalid, Unreadable
from storage.lenient import clean_leniently
from storage.store import Store
from storage.transaction import Transaction

# The limits of a report.
MAX_REPORTED_ENTRIES = 10_000
MAX_LINKED_BOOKMARKS = 100
MAX_VALUE_LENGTH = 200  # In characters, of a uri or title.
MAX_PATH_LENGTH = 1_000

# The skip reason of a separator, for example.
IGNORED = "is no bookmark"
# The skip reason of an entry that stands for values that were not read.
NOT_READ = "is not read"

# In this field, a reader says what it could not read of an entry.
NOTE = "note"

# The line of an entry, 0 for the whole file, or a path such as
# `bookmarks[3].children[0]`.
Place = int | str


class ImportedEntry(NamedTuple):
    """An entry of an imported file, whose fields are not checked yet.

    If the skip reason is NOT_READ, `fields` has the number of values for each column
    or JSON member that was not read.
    """

    place: Place
    fields: dict[str, object]
    skip_reason: str = ""  # Empty for an entry to store.


class _Imported(NamedTuple):
    """The bookmark of an entry, and what the import has done."""

    bookmark: Bookmark
    outcome: Literal["created", "updated", "unchanged"]
    notes: list[str]  # About values that were changed or left out.


_Outcome = Done[ImportedEntry, _Imported] | Failed[ImportedEntry]


class ReportedEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An entry that was skipped, or stored with changes."""

    line: int = 0
    path: str = ""
    value: str  # The uri or title of the entry.
    reason: str

    @property
    def place(self) -> Place:
        return self.path or self.line


class ImportReport(msgspec.Struct):
    """The numbers of entries by outcome."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    ignored: int = 0  # Entries that are not bookmarks, such as separators.
    skipped: int = 0  # Entries that cannot be stored.
    noted: int = 0  # Entries stored with a value changed or left out.
    # The first MAX_REPORTED_ENTRIES skipped entries, and as many noted entries.
    entries: list[ReportedEntry] = []
    # The number of values by column or JSON member.
    not_read: dict[str, int] = {}

    def summary(self) -> str:
        numbers = (
            f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged, "
            f"{self.ignored} ignored, {self.skipped} skipped"
        )
        if self.noted:
            numbers += f", {self.noted} noted"
        return numbers


class Importer:
    """Import entries of files, and report what happened to them.

    `require` is called before the first change.
    """

    def __init__(self, store: Store, require: Condition | None = None) -> None:
        self.report = ImportReport()
        self.first_created: list[Bookmark] = []  # At most MAX_LINKED_BOOKMARKS.
        self._store = store
        self._require = require

    def import_all(self, entries: Iterable[ImportedEntry]) -> ImportReport:
        """Import the entries in batches. Raises Busy, Full or Unavailable."""
        for batch in split(entries):
            self.import_batch(batch)
        return self.report

    def import_batch(self, entries: Sequence[ImportedEntry]) -> None:
        """Import the entries in one transaction. Raises Busy, Full or Unavailable."""
        bookmarks = [entry for entry in entries if not entry.skip_reason]
        outcomes: list[_Outcome] = []
        if bookmarks:
            outcomes = change_batch(self._store, bookmarks, _import_one, self._require)
            self._require = None  # The first batch has changed the state.
        # Each entry without a skip reason has an outcome.
        remaining = iter(outcomes)
        for entry in entries:
            if entry.skip_reason == IGNORED:
                self.report.ignored += 1
            elif entry.skip_reason == NOT_READ:
                self._report_values_not_read(entry.fields)
            elif entry.skip_reason:
                self._report_skipped(entry, entry.skip_reason)
            else:
                self._report_outcome(next(remaining))

    def _report_outcome(self, outcome: _Outcome) -> None:
        match outcome:
            case Failed(entry, error):
                self._report_skipped(entry, str(error))
            case Done(entry, imported):
                self._report_stored(imported)
                if imported.notes:
                    self._report_noted(entry, imported.notes)

    def _report_stored(self, imported: _Imported) -> None:
        if imported.outcome == "created":
            self.report.created += 1
            if len(self.first_created) < MAX_LINKED_BOOKMARKS:
                self.first_created.append(imported.bookmark)
        elif imported.outcome == "updated":
            self.report.updated += 1
        else:
            self.report.unchanged += 1

    def _report_values_not_read(self, numbers: Mapping[str, object]) -> None:
        for name, number in numbers.items():
            shown = cut_and_replace_unprintable(name)
            self.report.not_read[shown] = self.report.not_read.get(shown, 0) + cast(int, number)

    def _report_skipped(self, entry: ImportedEntry, reason: str) -> None:
        self.report.skipped += 1
        if self.report.skipped <= MAX_REPORTED_ENTRIES:
            self._report_entry(entry, reason)

    def _report_noted(self, entry: ImportedEntry, notes: Sequence[str]) -> None:
        self.report.noted += 1
        if self.report.noted <= MAX_REPORTED_ENTRIES:
            self._report_entry(entry, f"stored, but {'; '.join(notes)}")

    def _report_entry(self, entry: ImportedEntry, reason: str) -> None:
        value = str(entry.fields.get("uri") or entry.fields.get("title") or "")
        # UTF-8 cannot encode a lone surrogate, and HTML allows no NUL.
        value = replace_invalid_xml_chars(value[:MAX_VALUE_LENGTH])
        reported = ReportedEntry(value=value, reason=reason)
        if isinstance(entry.place, int):
            reported.line = entry.place
        else:
            reported.path = entry.place[:MAX_PATH_LENGTH]
        self.report.entries.append(reported)


def _import_one(folder: Transaction, entry: ImportedEntry) -> _Imported:
    fields, notes = _clean_entry(entry.fields)
    before = folder.holder(fields["uri"])
    if before is None:
        created = create(fields, _choose_id(folder, fields))
        folder.put(created)
        return _Imported(created, "created", notes)
    after = merge(before.bookmark, fields)
    folder.put(after, before)
    if not _has_all_tags(after, fields):
        notes.append(f"together with the stored tags there are more than {MAX_TAGS}")
    if after is before.bookmark:  # `merge` returns it if nothing changes.
        return _Imported(after, "unchanged", notes)
    return _Imported(after, "updated", notes)


def _clean_entry(values: Mapping[str, object]) -> tuple[Fields, list[str]]:
    fields = dict(values)
    note = fields.pop(NOTE, None)
    id = fields.get("id")
    if not isinstance(id, str) or not ID.fullmatch(id):  # Another program's id.
        fields.pop("id", None)
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    cleaned, notes = clean_leniently(fields)
    if note:
        notes.append(str(note))
    return cleaned, notes


def _has_all_tags(bookmark: Bookmark, fields: Fields) -> bool:
    if len(bookmark.tags) < MAX_TAGS:
        return True
    stored = set(map(fold_tag, bookmark.tags))
    return stored.issuperset(map(fold_tag, fields.get("tags", ())))


def _choose_id(folder: Transaction, fields: Fields) -> str:
    id = fields.get("id")
    if id and _is_free(folder, id):
        return str(id)
    return folder.mint()


def _is_free(folder: Transaction, id: str) -> bool:
    try:
        return folder.find(id) is None
    except (Gone, Unreadable):
        return False
