"""Import bookmarks: create or update each by its uri, and store them durably in batches."""

import time
from collections import Counter
from collections.abc import Mapping

import msgspec

from storage.bookmark import (
    ID,
    Bookmark,
    Fields,
    clean,
    create,
    merge,
    replace_invalid_xml_chars,
    timestamp,
)
from storage.errors import Busy, Gone, Invalid, NotFound, StorageError, Unreadable
from storage.index import Entry
from storage.store import MAX_CHANGES, Change, Store
from storage.uri import uri_key

# These limits bound the memory of an import and the size of its report.
MAX_REPORTED_ENTRIES = 10_000
MAX_VALUE_LENGTH = 200  # The characters of the uri or title of a skipped entry.
# Entries with the same uri make one change together, so MAX_CHANGES alone would admit any number of
# entries in a batch.
MAX_PENDING_ENTRIES = 2_000

# Attempts to store a batch; each further one plans again the changes that failed.
_MAX_ATTEMPTS = 20
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


class _Plan:
    """The pending change of one uri.

    `stored` is the bookmark that had the uri when the plan was begun, None if none had it. `result`
    is the bookmark to store, which is made from `entries`: the lines and fields of all entries
    with this uri in the batch. `outcomes` counts these entries by outcome, such as "created".
    """

    def __init__(self, stored: Entry | None, result: Bookmark) -> None:
        self.stored = stored
        self.result = result
        self.entries: list[tuple[int, Fields]] = []
        self.outcomes: Counter[str] = Counter()


class Importer:
    """Import entries one after the other and store their changes in batches.

    Each batch is durable when the next begins, so a crash loses at most the last one. Importing the
    same entries again finishes an interrupted import. A dry run only counts.
    """

    def __init__(self, store: Store, dry_run: bool = False) -> None:
        self.report = ImportReport()
        self._store = store
        self._dry_run = dry_run
        self._plans_by_key: dict[str, _Plan] = {}  # By the uri's `uri_key`.
        self._planned_ids: set[str] = set()  # The ids of bookmarks to create.
        self._planned_entry_count = 0  # A plan can have several entries.
        # By id: stored bookmarks that entries leave unchanged. Another program may have written
        # their files without syncing them, so `write_all` syncs them.
        self._unchanged_to_sync: dict[str, Entry] = {}

    def add(self, line: int, fields: Mapping[str, object], skip_reason: str = "") -> None:
        """Import one entry, or skip it for `skip_reason` or because it breaks a rule.

        Raises Busy, Full or Unavailable.
        """
        if skip_reason == IGNORED:
            self.report.ignored += 1
            return
        try:
            if skip_reason:
                raise Invalid([("entry", skip_reason)])
            self._plan(line, _clean_entry(fields))
        except Invalid as error:
            self._skip(line, fields, skip_reason or str(error))
        # Unchanged bookmarks have no plan, but `flush` syncs their files.
        is_batch_full = (
            len(self._plans_by_key) >= MAX_CHANGES
            or self._planned_entry_count >= MAX_PENDING_ENTRIES
            or len(self._unchanged_to_sync) >= MAX_PENDING_ENTRIES
        )
        if is_batch_full:
            self.flush()

    def finish(self) -> ImportReport:
        """Store the pending changes; return the report. Raises Busy, Full or Unavailable."""
        self.flush()
        if self._dry_run:  # `flush` has kept all plans, because later entries could change them.
            for plan in self._plans_by_key.values():
                self._count(plan)
        return self.report

    def _skip(self, line: int, fields: Mapping[str, object], reason: str) -> None:
        self.report.skipped += 1
        if len(self.report.entries) < MAX_REPORTED_ENTRIES:
            value = str(fields.get("uri") or fields.get("title") or "")[:MAX_VALUE_LENGTH]
            # No report can contain a lone surrogate, and no HTML report a NUL.
            value = replace_invalid_xml_chars(value)
            self.report.entries.append(SkippedEntry(line, value, reason))

    def _plan(self, line: int, fields: Fields) -> None:
        """Add an entry to the plan of its uri, or begin the plan. Raises Invalid or Unavailable."""
        key, now = uri_key(fields["uri"]), timestamp(time.time())
        plan = self._plans_by_key.get(key)
        if plan:  # An earlier entry of this batch has the same uri.
            stored = plan.stored
            before: Bookmark | None = plan.result
        else:
            stored = self._store.holder(fields["uri"])  # The bookmark that has the uri, or None.
            before = stored.bookmark if stored else None
        if before is None:  # The uri is neither stored nor planned yet.
            outcome, result = "created", create(fields, self._choose_id(fields), now)
        elif stored:  # If the merge changes the bookmark, its `modified` is the time of the import.
            outcome, result = "updated", merge(before, fields, now)
        else:  # This batch creates the bookmark: its `modified` is the latest of its entries.
            outcome, result = "updated", _merge_with_later_modified(before, fields)
        if result is before:  # The merge found nothing new in the entry.
            outcome = "unchanged"
        if stored and result is stored.bookmark:
            # No entry has changed this bookmark so far, so it needs no plan. Its file is synced,
            # because another program may have written it without a sync.
            self.report.unchanged += 1
            self._unchanged_to_sync[stored.bookmark.id] = stored
            return
        plan = plan or _Plan(stored, result)
        plan.result = result
        plan.outcomes[outcome] += 1
        if not self._dry_run:  # If `flush` cannot store the plan, it plans these entries again.
            plan.entries.append((line, fields))
            self._planned_entry_count += 1
        self._plans_by_key[key] = plan

    def _choose_id(self, fields: Fields) -> str:
        """Return the entry's id if no bookmark has or had it, else a new id."""
        id = fields.get("id")
        if id is None or id in self._planned_ids or not self._is_free(id):
            id = self._store.mint()
        self._planned_ids.add(id)
        return id

    def _is_free(self, id: str) -> bool:
        try:
            self._store.get(id)
        except NotFound:
            return True
        except (Gone, Unreadable):  # A deleted id is never used again.
            return False
        return False  # A bookmark has the id.

    def flush(self) -> None:
        """Store the pending changes and count their outcomes, unless this is a dry run."""
        if self._dry_run:  # Keep all plans for later entries with the same uris; `finish` counts.
            return
        # Another client's change can make plans fail. The next attempt stores new plans for them.
        for _ in range(_MAX_ATTEMPTS):
            plans = list(self._plans_by_key.values())
            unchanged_to_sync = list(self._unchanged_to_sync.values())
            self._plans_by_key, self._unchanged_to_sync = {}, {}
            self._planned_ids, self._planned_entry_count = set(), 0
            changes = [Change(plan.result, plan.stored) for plan in plans]
            failed = self._store.write_all(changes, unchanged_to_sync)
            errors_by_id = {change.bookmark.id: error for change, error in failed}
            for plan in plans:
                if error := errors_by_id.get(plan.result.id):
                    self._plan_again_or_skip(plan, error)
                else:
                    self._count(plan)
            # `_plan_again_or_skip` may have planned changes again, or found that none is needed.
            if not self._plans_by_key and not self._unchanged_to_sync:
                return
        raise Busy("Other clients keep changing the same bookmarks. Import the file again later.")

    def _plan_again_or_skip(self, failed: _Plan, error: StorageError) -> None:
        """Plan the entries of a failed plan again, on top of another client's change.

        Skip them if they are invalid, or if the file of the bookmark to update has become
        unreadable. If a bookmark to create has the id of an unreadable file, `_plan` takes another.
        """
        is_update = failed.stored is not None
        is_permanent = isinstance(error, Invalid) or (is_update and isinstance(error, Unreadable))
        for line, fields in failed.entries:
            if is_permanent:  # Another attempt would fail, too.
                self._skip(line, fields, str(error))
                continue
            try:
                self._plan(line, fields)
            except Invalid as reason:
                self._skip(line, fields, str(reason))

    def _count(self, plan: _Plan) -> None:
        """Add the outcomes of a plan's entries to the report."""
        self.report.created += plan.outcomes["created"]
        self.report.updated += plan.outcomes["updated"]
        self.report.unchanged += plan.outcomes["unchanged"]


def _clean_entry(values: Mapping[str, object]) -> Fields:
    """Return the cleaned fields; leave out an id that is not valid here. Raises Invalid."""
    id = values.get("id")
    if "id" in values and not (isinstance(id, str) and ID.fullmatch(id)):  # Another program's id.
        values = {name: value for name, value in values.items() if name != "id"}
    fields = clean(values)
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    return fields


def _merge_with_later_modified(before: Bookmark, fields: Fields) -> Bookmark:
    """Merge an entry into a bookmark that was made from earlier entries and is not stored yet.

    The result has the later `modified` of the two, not the time of the import.
    """
    modified = fields.get("modified") or fields.get("created") or before.modified
    merged = merge(before, fields, now=before.modified)  # This leaves `modified` as it is.
    if modified <= before.modified:
        return merged
    return msgspec.structs.replace(merged, modified=modified)
