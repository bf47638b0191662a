"""Bookmarks from elsewhere made part of the collection: an upsert by uri, many at a time."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from storage.bookmark import ID, Bookmark, Fields, clean, create, fit, merge, timestamp, uri_key
from storage.errors import Busy, Gone, Invalid, NotFound, StorageError, Unreadable
from storage.index import Entry
from storage.store import MAX_CHANGES, Change, Store

MAX_NAMED = 10_000
MAX_VALUE = 200
MAX_GIVEN = 2_000  # Entries that wait to be stored, many of one uri perhaps.
_ATTEMPTS = 20


class Skipped(msgspec.Struct):
    """An entry that could not be taken: its line, what it is, and why."""

    line: int
    value: str
    reason: str


class Report(msgspec.Struct):
    """What became of the entries, in numbers; `entries` names the first 10,000 skipped ones."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    entries: list[Skipped] = []


class _Plan:
    """What is to become of one uri: the version there is, the bookmark to be, what asks for it."""

    def __init__(self, seen: Entry | None) -> None:
        self.seen = seen
        self.bookmark = seen.bookmark if seen else None
        self.given: list[tuple[int, Fields]] = []
        self.outcomes: Counter[str] = Counter()


class Merge:
    """Takes entries one after the other; what they change is stored some hundreds at a time.

    Whatever was stored is whole, so that after an interruption the same entries finish the work.
    A dry run only counts.
    """

    def __init__(self, store: Store, dry_run: bool = False) -> None:
        self.report = Report()
        self._store = store
        self._dry_run = dry_run
        self._plans: dict[str, _Plan] = {}
        self._ids: set[str] = set()
        self._given = 0
        self._unchanged: list[Entry] = []

    def add(self, line: int, given: Mapping[str, object], skipped: str = "") -> None:
        """Takes what one entry gives, unless it is to be skipped or breaks a rule.

        Raises Busy, Full or Unavailable.
        """
        try:
            if skipped:
                raise Invalid([("entry", skipped)])
            self._plan(line, _fields(given))
        except Invalid as error:
            self._skip(line, given, skipped or str(error))
        is_much = len(self._plans) >= MAX_CHANGES or self._given >= MAX_GIVEN
        if is_much and not self._dry_run:
            self._flush()

    def add_all(
        self, entries: Iterable[tuple[int, Mapping[str, object], str]], broken: type[Exception]
    ) -> None:
        """Takes all entries, up to where reading them raises `broken`: the rest is skipped.

        If that is at once, it is raised here too. Raises Busy, Full or Unavailable.
        """
        has_begun = False
        try:
            for entry in entries:
                has_begun = True
                self.add(*entry)
        except broken as error:
            if not has_begun:
                raise
            self.add(0, {}, f"The rest cannot be read: {error}")

    def finish(self) -> Report:
        """Stores what is left; what became of everything. Raises Busy, Full or Unavailable."""
        if self._dry_run:
            for plan in self._plans.values():
                self._count(plan)
        else:
            self._flush()
        return self.report

    def _skip(self, line: int, given: Mapping[str, object], reason: str) -> None:
        self.report.skipped += 1
        if len(self.report.entries) < MAX_NAMED:
            value = str(given.get("uri") or given.get("title") or "")[:MAX_VALUE]
            self.report.entries.append(Skipped(line, fit(value), reason))

    def _plan(self, line: int, fields: Fields) -> None:
        key, now = uri_key(fields["uri"]), timestamp(time.time())
        plan = self._plans.get(key) or _Plan(self._store.holder(fields["uri"]))
        before = plan.bookmark
        if before is None:
            plan.bookmark = create(fields, self._id(fields), now)
        elif plan.seen is None:
            plan.bookmark = _united(before, fields)
        else:
            plan.bookmark = merge(before, fields, now)
        if plan.seen and plan.bookmark is plan.seen.bookmark:
            self.report.unchanged += 1
            self._unchanged.append(plan.seen)
            return
        plan.outcomes[_outcome(before, plan.bookmark)] += 1
        if not self._dry_run:
            plan.given.append((line, fields))
            self._given += 1
        self._plans[key] = plan

    def _id(self, fields: Fields) -> str:
        """The id that the entry gives, if it is free and was never used; else a new one."""
        id = fields.get("id")
        if id is None or id in self._ids or not self._is_free(id):
            id = self._store.mint()
        self._ids.add(id)
        return id

    def _is_free(self, id: str) -> bool:
        try:
            self._store.get(id)
        except NotFound:
            return True
        except (Gone, Unreadable):
            return False
        return False

    def _flush(self) -> None:
        for _ in range(_ATTEMPTS):
            plans, self._plans, self._ids, self._given = self._plans, {}, set(), 0
            unchanged, self._unchanged = self._unchanged, []
            changes = [Change(p.bookmark, p.seen) for p in plans.values() if p.bookmark]
            failed = self._store.write_all(changes, unchanged)
            undone = {change.bookmark.id: error for change, error in failed}
            for plan in plans.values():
                error = undone.get(plan.bookmark.id) if plan.bookmark else None
                if error:
                    self._again(plan, error)
                else:
                    self._count(plan)
            if not self._plans:
                return
        raise Busy("Others change the collection faster than it can be imported into.")

    def _again(self, plan: _Plan, error: StorageError) -> None:
        """Plans once more what could not be stored; on top of theirs, if somebody was faster."""
        is_final = isinstance(error, Invalid) or bool(plan.seen) and isinstance(error, Unreadable)
        for line, fields in plan.given:
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


def _fields(given: Mapping[str, object]) -> Fields:
    """The entry's fields by their rules; an id that cannot be one of ours is none."""
    id = given.get("id")
    if "id" in given and not (isinstance(id, str) and ID.fullmatch(id)):
        given = {name: value for name, value in given.items() if name != "id"}
    fields = clean(given)
    if "uri" not in fields:
        raise Invalid([("uri", "is required")])
    return fields


def _united(before: Bookmark, fields: Fields) -> Bookmark:
    """One new bookmark of two entries, modified when the later was: nobody does so now."""
    given = fields.get("modified", fields.get("created", before.modified))
    bookmark = merge(before, fields, before.modified)
    if given <= before.modified:
        return bookmark
    return msgspec.structs.replace(bookmark, modified=given)


def _outcome(before: Bookmark | None, after: Bookmark) -> str:
    if before is None:
        return "created"
    return "unchanged" if after is before else "updated"
