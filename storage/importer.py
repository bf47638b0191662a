"""Import many bookmarks: create or update by uri, in batches that are synced once."""

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

MAX_REPORTED = 10_000  # Skipped entries.
MAX_VALUE_LENGTH = 200
MAX_PENDING = 2_000  # Entries; many of them may have the same uri, and so belong to one change.
_MAX_ATTEMPTS = 20
# The skip reason of an entry that is no bookmark, such as a separator; it is only counted.
IGNORED = "is no bookmark"


class SkippedEntry(msgspec.Struct):
    """An entry that could not be imported: its line, the value that names it, and the reason."""

    line: int
    value: str
    reason: str


class ImportReport(msgspec.Struct):
    """The numbers of entries by outcome; `entries` names the first 10,000 skipped ones.

    A skipped entry could not be imported; an ignored one is no bookmark.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    ignored: int = 0
    skipped: int = 0
    entries: list[SkippedEntry] = []

    def summary(self) -> str:
        """Return the numbers in one line."""
        return (
            f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged, "
            f"{self.ignored} ignored, {self.skipped} skipped"
        )


class _Plan:
    """The pending change of one uri.

    `seen` is the stored version, `bookmark` the new one; `entries` are the lines and fields from
    which it is made, and `outcomes` counts what becomes of them.
    """

    def __init__(self, seen: Entry | None) -> None:
        self.seen = seen
        self.bookmark = seen.bookmark if seen else None
        self.entries: list[tuple[int, Fields]] = []
        self.outcomes: Counter[str] = Counter()


class Importer:
    """Import entries one after the other and store their changes in batches.

    Each batch is durable when the next begins, so that importing the same entries again finishes
    an interrupted import. A dry run only counts.
    """

    def __init__(self, store: Store, dry_run: bool = False) -> None:
        self.report = ImportReport()
        self._store = store
        self._dry_run = dry_run
        self._plans: dict[str, _Plan] = {}  # By uri key.
        self._planned_ids: set[str] = set()
        self._pending = 0  # The number of planned entries.
        self._unchanged: dict[str, Entry] = {}  # To be made durable as they are, by id.

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
        pending = max(self._pending, len(self._unchanged))
        if len(self._plans) >= MAX_CHANGES or pending >= MAX_PENDING:
            self.flush()

    def finish(self) -> ImportReport:
        """Store the pending changes; return the report. Raises Busy, Full or Unavailable."""
        self.flush()
        if self._dry_run:
            for plan in self._plans.values():
                self._count(plan)
        return self.report

    def _skip(self, line: int, fields: Mapping[str, object], reason: str) -> None:
        self.report.skipped += 1
        if len(self.report.entries) < MAX_REPORTED:
            value = str(fields.get("uri") or fields.get("title") or "")[:MAX_VALUE_LENGTH]
            value = replace_invalid_xml_chars(value)
            self.report.entries.append(SkippedEntry(line, value, reason))

    def _plan(self, line: int, fields: Fields) -> None:
        key, now = uri_key(fields["uri"]), timestamp(time.time())
        plan = self._plans.get(key) or _Plan(self._store.holder(fields["uri"]))
        before = plan.bookmark
        if before is None:
            plan.bookmark = create(fields, self._choose_id(fields), now)
        elif plan.seen is None:
            plan.bookmark = _merge_entries(before, fields)
        else:
            plan.bookmark = merge(before, fields, now)
        if plan.seen and plan.bookmark is plan.seen.bookmark:
            self.report.unchanged += 1
            self._unchanged[plan.seen.bookmark.id] = plan.seen
            return
        is_same = plan.bookmark is before
        plan.outcomes["created" if before is None else "unchanged" if is_same else "updated"] += 1
        if not self._dry_run:
            plan.entries.append((line, fields))
            self._pending += 1
        self._plans[key] = plan

    def _choose_id(self, fields: Fields) -> str:
        """Return the id of the entry if it is free and was never used, else a new one."""
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
        except (Gone, Unreadable):
            return False
        return False

    def flush(self) -> None:
        """Store the pending changes, unless this is a dry run."""
        if self._dry_run:
            return
        for _ in range(_MAX_ATTEMPTS):
            plans, self._plans, self._planned_ids, self._pending = self._plans, {}, set(), 0
            unchanged, self._unchanged = self._unchanged, {}
            changes = [Change(p.bookmark, p.seen) for p in plans.values() if p.bookmark]
            failed = self._store.write_all(changes, unchanged.values())
            errors = {change.bookmark.id: error for change, error in failed}
            for plan in plans.values():
                error = errors.get(plan.bookmark.id) if plan.bookmark else None
                if error:
                    self._plan_again(plan, error)
                else:
                    self._count(plan)
            if not self._plans and not self._unchanged:
                return
        raise Busy("Other clients keep changing the same bookmarks. Import the file again later.")

    def _plan_again(self, plan: _Plan, error: StorageError) -> None:
        """Plan the entries again on top of another client's change.

        Skip them if they are invalid, or if the bookmark to update has become unreadable.
        """
        is_final = isinstance(error, Invalid) or bool(plan.seen) and isinstance(error, Unreadable)
        for line, fields in plan.entries:
            try:
                if is_final:
                    raise error
                self._plan(line, fields)
            except (Invalid, Unreadable) as reason:
                self._skip(line, fields, str(reason))

    def _count(self, plan: _Plan) -> None:
        self.report.created += plan.outcomes["created"]
        self.report.updated += plan.outcomes["updated"]
        self.report.unchanged += plan.outcomes["unchanged"]


def _clean_entry(values: Mapping[str, object]) -> Fields:
    """Return the valid fields of an entry, without an id that has the form of another program.

    Raises Invalid.
    """
    id = values.get("id")
    if "id" in values and not (isinstance(id, str) and ID.fullmatch(id)):
        values = {name: value for name, value in values.items() if name != "id"}
    fields = clean(values)
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    return fields


def _merge_entries(before: Bookmark, fields: Fields) -> Bookmark:
    """Merge two entries of one file into one new bookmark, with the later `modified` of the two."""
    modified = fields.get("modified") or fields.get("created") or before.modified
    bookmark = merge(before, fields, before.modified)
    if modified <= before.modified:
        return bookmark
    return msgspec.structs.replace(bookmark, modified=modified)
