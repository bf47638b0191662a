"""Import bookmarks: create or update each by its uri, and store them durably in batches."""

import time
from collections.abc import Mapping

import msgspec

from storage.bookmark import ID, Fields, clean, create, merge, replace_invalid_xml_chars, timestamp
from storage.errors import Gone, Invalid, Unreadable
from storage.store import MAX_CHANGES, Store, Transaction

# These limits bound the size of an import's report.
MAX_REPORTED_ENTRIES = 10_000
MAX_VALUE_LENGTH = 200  # The characters of the uri or title of a skipped entry.

# The skip reason of entries that are no bookmarks, such as separators. Reports only count them.
IGNORED = "is no bookmark"


class SkippedEntry(msgspec.Struct):
    """An entry that was not imported: its line, its uri or title as the value, and the reason."""

    line: int
    value: str
    reason: str


class ImportReport(msgspec.Struct):
    """The numbers of entries by outcome."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    ignored: int = 0  # Entries that are no bookmarks, such as separators.
    skipped: int = 0  # Entries that break a rule or cannot be stored.
    entries: list[SkippedEntry] = []  # The first MAX_REPORTED_ENTRIES of the skipped ones.

    def summary(self) -> str:
        """Return the numbers in one line."""
        return (
            f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged, "
            f"{self.ignored} ignored, {self.skipped} skipped"
        )


class Importer:
    """Import entries one after the other and store their changes in batches.

    Each batch is one transaction, so a crash loses at most the last one. Importing the same entries
    again finishes an interrupted import.
    """

    def __init__(self, store: Store) -> None:
        self.report = ImportReport()
        self._store = store
        self._batch: list[tuple[int, Mapping[str, object]]] = []

    def add(self, line: int, fields: Mapping[str, object], skip_reason: str = "") -> None:
        """Import one entry, or skip it for `skip_reason` or because it breaks a rule.

        Raises Busy, Full or Unavailable.
        """
        if skip_reason == IGNORED:
            self.report.ignored += 1
        elif skip_reason:
            self._skip(line, fields, skip_reason)
        else:
            self._batch.append((line, fields))
        if len(self._batch) >= MAX_CHANGES:
            self.flush()

    def finish(self) -> ImportReport:
        """Store the pending changes; return the report. Raises Busy, Full or Unavailable."""
        self.flush()
        return self.report

    def flush(self) -> None:
        """Store the entries of the batch, then count them by outcome."""
        batch, self._batch = self._batch, []
        with self._store.transaction() as folder:
            outcomes = [self._import(folder, *entry) for entry in batch]
        self.report.created += outcomes.count("created")
        self.report.updated += outcomes.count("updated")
        self.report.unchanged += outcomes.count("unchanged")

    def _import(self, folder: Transaction, line: int, values: Mapping[str, object]) -> str:
        """Put the bookmark of an entry into the transaction; return the outcome for the report."""
        now = timestamp(time.time())
        try:
            fields = _clean_entry(values)
            before = folder.holder(fields["uri"])
            if before is None:
                folder.put(create(fields, _choose_id(folder, fields), now))
                return "created"
            after = merge(before.bookmark, fields, now)
            folder.put(after, before)
            return "unchanged" if after is before.bookmark else "updated"
        except (Invalid, Gone, Unreadable) as error:
            self._skip(line, values, str(error))
            return "skipped"

    def _skip(self, line: int, fields: Mapping[str, object], reason: str) -> None:
        self.report.skipped += 1
        if len(self.report.entries) < MAX_REPORTED_ENTRIES:
            value = str(fields.get("uri") or fields.get("title") or "")[:MAX_VALUE_LENGTH]
            # No report can contain a lone surrogate, and no HTML report a NUL.
            value = replace_invalid_xml_chars(value)
            self.report.entries.append(SkippedEntry(line, value, reason))


def _choose_id(folder: Transaction, fields: Fields) -> str:
    """Return the entry's id if no bookmark has or had it, else a new id."""
    id = fields.get("id")
    try:
        return id if id and not folder.find(id) else folder.mint()
    except (Gone, Unreadable):  # A deleted id is never used again.
        return folder.mint()


def _clean_entry(values: Mapping[str, object]) -> Fields:
    """Return the cleaned fields; leave out an id that is not valid here. Raises Invalid."""
    id = values.get("id")
    if "id" in values and not (isinstance(id, str) and ID.fullmatch(id)):  # Another program's id.
        values = {name: value for name, value in values.items() if name != "id"}
    fields = clean(values)
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    return fields
