"""Remove and add tags on many bookmarks, which a query selects."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import msgspec

from storage.batch import Done, Failed, Outcome, StateCheck, change_in_batches
from storage.bookmark import (
    Fields,
    clean_value,
    cut_and_replace_unprintable,
    fold_tag,
    unique_tags,
    update,
)
from storage.errors import (
    BadQuery,
    Busy,
    Full,
    Invalid,
    PreconditionFailed,
    StorageError,
    Unavailable,
)
from storage.index import Entry
from storage.query import UP_TO_18_DIGITS, Query, fold_tags
from storage.search import AnyOf, Search, Tag, normalize_and_fold_tag, parse_expression
from storage.selection import meets
from storage.store import Store
from storage.transaction import Transaction


class Retagging(msgspec.Struct, frozen=True, dict=True):
    """Remove and add tags on the bookmarks that `query` selects."""

    query: Query
    remove: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    expected: int | None = None  # How many bookmarks the client expects to be selected.
    is_renaming: bool = False  # The single added tag takes the place of removed ones.

    @cached_property
    def _removed(self) -> set[str]:
        return {fold_tag(tag) for tag in self.remove}

    def apply(self, tags: Sequence[str]) -> list[str]:
        """Return the changed tags. A renamed tag keeps its place; other added tags come last."""
        changed: list[str] = []
        for tag in tags:
            if fold_tag(tag) not in self._removed:
                changed.append(tag)
            elif self.is_renaming:
                changed.append(self.add[0])
        return unique_tags([*changed, *self.add])

    def require_expected(self, matched: int) -> None:
        if self.expected is not None and self.expected != matched:
            matching = f"{matched:,} bookmarks match"
            if matched == 1:
                matching = "1 bookmark matches"
            raise PreconditionFailed(
                f"{matching} now, not {self.expected:,}. Check them and try again."
            )


class FailedBookmark(msgspec.Struct):
    id: str
    reason: str


class RetagReport(msgspec.Struct, omit_defaults=True):
    matched: int
    changed: int
    unchanged: int
    failed: list[FailedBookmark]
    error: StorageError | None = None  # Busy, Full or Unavailable, which ended the work early.

    def summary(self) -> str:
        return (
            f"{self.matched} matched, {self.changed} changed, {self.unchanged} unchanged, "
            f"{len(self.failed)} failed"
        )


def clean_retagging(values: Mapping[str, object]) -> Retagging:
    """Check a JSON object or a form. Raises Invalid with all errors."""
    members: Fields = {}
    errors: list[tuple[str, str]] = []
    for name, value in values.items():
        try:
            members[name] = _parse_member(name, value)
        except BadQuery as error:
            errors.append((name, f"cannot be used: {error}"))
        except Invalid as error:
            _, reason = error.errors[0]
            errors.append((cut_and_replace_unprintable(name), reason))
    query = Query(tags=members.get("tag", ()), search=members.get("q"))
    selects_all = not query.tags and query.search is None
    if selects_all and not errors:
        errors.append(("tag", "is required, or q, to select the bookmarks to change"))
    if errors:
        raise Invalid(errors)
    remove = members.get("remove", ())
    add = members.get("add", ())
    is_renaming = len(remove) == len(add) == 1
    return Retagging(
        query,
        remove=remove,
        add=add,
        expected=members.get("expected"),
        is_renaming=is_renaming,
    )


def _parse_member(name: str, value: object) -> object:
    match name:
        case "tag":
            return fold_tags(_parse_strings(name, value))
        case "q":
            return _parse_search(name, value)
        case "remove" | "add":
            return clean_value("tags", _parse_strings(name, value))
        case "expected":
            return _parse_count(name, value)
    raise Invalid([(name, "must be one of tag, q, remove, add, expected")])


def _parse_strings(name: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Invalid([(name, "must be a string or an array of strings")])
    return value


def _parse_search(name: str, value: object) -> Search | None:
    if not isinstance(value, str):
        raise Invalid([(name, "must be a string")])
    return parse_expression(value)


def _parse_count(name: str, value: object) -> int:
    if isinstance(value, str) and UP_TO_18_DIGITS.fullmatch(value):  # A form sends text.
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value >= 0 and value % 1 == 0:  # JSON may contain 3.0.
            return int(value)
    raise Invalid([(name, "must be a whole number")])


def retag(
    store: Store,
    retagging: Retagging,
    entries: Sequence[Entry],
    check_state: StateCheck | None = None,
) -> RetagReport:
    """Change the tags of the selected `entries` in batches.

    `check_state` is called before the first change.
    """
    report = RetagReport(matched=len(entries), changed=0, unchanged=0, failed=[])
    change = partial(_retag_one, retagging=retagging)
    try:
        for outcome in change_in_batches(store, entries, change, check_state):
            _count(outcome, report)
    except (Busy, Full, Unavailable) as error:
        report.error = error
    return report


def replace_tags(store: Store, tags: Sequence[str], new: Sequence[str]) -> RetagReport:
    """Replace the tags on all bookmarks. Raises Unavailable if they cannot be selected."""
    has_any = AnyOf(tuple(Tag(normalize_and_fold_tag(tag)) for tag in tags))
    retagging = Retagging(
        Query(search=has_any),
        remove=tuple(tags),
        add=tuple(new),
        is_renaming=len(new) == 1,
    )
    return retag(store, retagging, select_with_any(store, tags))


def select_with_any(store: Store, tags: Sequence[str]) -> list[Entry]:
    """Return the bookmarks that have any of the tags."""
    entries = {}
    for tag in tags:
        for entry in store.select(Query(fold_tags([tag]))).entries:
            entries[entry.bookmark.id] = entry
    return list(entries.values())


def _count(outcome: Outcome[Entry, bool], report: RetagReport) -> None:
    match outcome:
        case Failed(entry, error):
            failed = FailedBookmark(entry.bookmark.id, str(error))
            report.failed.append(failed)
        case Done(result=True):
            report.changed += 1
        case _:
            report.unchanged += 1


def _retag_one(
    transaction: Transaction, selected: Entry, retagging: Retagging
) -> bool:
    """Change the tags of one bookmark. Return whether they differ."""
    entry = transaction.get(selected.bookmark.id)
    if entry is not selected and not meets(entry, retagging.query):
        return False  # Another client has changed the bookmark meanwhile.
    before = entry.bookmark
    tags = clean_value("tags", retagging.apply(before.tags))
    after = update(before, {"tags": tags})
    transaction.put(after, entry)
    return after != before
