"""Change tags on many bookmarks: select them, remove and add tags, and store them in batches."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from storage.bookmark import Fields, clean, cut_and_replace_unprintable, fold_tag, update
from storage.errors import BadQuery, Gone, Invalid, NotFound, PreconditionFailed, Unreadable
from storage.index import Entry, meets
from storage.query import UP_TO_18_DIGITS, Query, fold_tags
from storage.search import Search, parse_expression
from storage.store import MAX_CHANGES, Store, Transaction


class Retagging(msgspec.Struct, frozen=True):
    """Remove and add tags on the bookmarks that `query` selects.

    `expected` is the number of these bookmarks that the client has seen; the change is refused if
    another number is selected now. None if the client does not ask for that.
    """

    query: Query
    remove: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    expected: int | None = None

    def apply(self, tags: Sequence[str]) -> list[str]:
        """Return the tags without the removed and with the added ones; some may be there twice."""
        removed = {fold_tag(tag) for tag in self.remove}
        kept = [tag for tag in tags if fold_tag(tag) not in removed]
        is_renaming = len(self.remove) == len(self.add) == 1
        if is_renaming and len(kept) < len(tags):  # The new name takes the place of the old one.
            return [self.add[0] if fold_tag(tag) in removed else tag for tag in tags]
        return [*kept, *self.add]  # `clean` then removes repetitions.

    def require_expected(self, matched: int) -> None:
        """Raise PreconditionFailed if the client has seen another number of bookmarks."""
        if self.expected is not None and self.expected != matched:
            raise PreconditionFailed(
                f"The number of selected bookmarks is {matched:,} now, not {self.expected:,}. "
                "Nothing was changed. Look at the selection again, then repeat the change."
            )


class FailedBookmark(msgspec.Struct):
    """A bookmark that could not be changed, and the reason."""

    id: str
    reason: str


class RetagReport(msgspec.Struct):
    """The numbers of selected bookmarks by outcome; `failed` has those with an error."""

    matched: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: list[FailedBookmark] = []

    def summary(self) -> str:
        """Return the numbers in one line."""
        return (
            f"{self.matched} matched, {self.changed} changed, {self.unchanged} unchanged, "
            f"{len(self.failed)} failed"
        )


# --- Reading a change of tags ---


def clean_retagging(values: Mapping[str, object]) -> Retagging:
    """Return the change of tags that a client asks for by these members of an object or form.

    The members tag and q select bookmarks; the others are remove, add and expected. Raises Invalid
    with an error for each member that is unknown or breaks its rule, or if tag and q are empty.
    """
    fields: Fields = {}
    errors: list[tuple[str, str]] = []
    for name, value in values.items():
        try:
            if name not in _RULES:
                raise _invalid_value(f"must be one of {', '.join(_RULES)}")
            fields[name] = _RULES[name](value)
        except Invalid as error:
            errors += [(cut_and_replace_unprintable(name), reason) for _, reason in error.errors]
        except BadQuery as error:  # From the rules of `tag` and `q`.
            errors.append((name, f"cannot be used: {error}"))
    query = Query(tags=fields.pop("tag", ()), search=fields.pop("q", None))
    # Without tags and search, the query would select all bookmarks.
    if not errors and not query.tags and query.search is None:
        # The pair makes one sentence for clients: "tag or q is required, to select …".
        errors.append(("tag", "or q is required, to select the bookmarks to change"))
    if errors:
        raise Invalid(errors)
    return Retagging(query, **fields)  # The other fields are `remove`, `add` and `expected`.


def _invalid_value(reason: str) -> Invalid:
    return Invalid([("", reason)])  # `clean_retagging` adds the name of the member.


def _parse_strings(value: object) -> list[str]:
    """Return an array of strings; a single string may stand for an array."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise _invalid_value("must be a string or an array of strings")
    return values


def _parse_search(value: object) -> Search | None:
    if not isinstance(value, str):
        raise _invalid_value("must be a string")
    return parse_expression(value)


def _parse_tags_to_store(value: object) -> tuple[str, ...]:
    """Return tags in the form in which a bookmark stores them."""
    return tuple(clean({"tags": _parse_strings(value)})["tags"])


def _parse_count(value: object) -> int:
    if isinstance(value, str) and UP_TO_18_DIGITS.fullmatch(value):  # A form sends text.
        return int(value)
    if isinstance(value, float) and value.is_integer():  # The JSON parser makes all numbers floats.
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _invalid_value("must be a whole number")
    return value


_RULES: Mapping[str, Callable[[object], object]] = {
    "tag": lambda value: fold_tags(_parse_strings(value)),
    "q": _parse_search,
    "remove": _parse_tags_to_store,
    "add": _parse_tags_to_store,
    "expected": _parse_count,  # If another number is selected, the change is refused.
}


# --- Changing tags ---


def retag(store: Store, retagging: Retagging, entries: Sequence[Entry]) -> RetagReport:
    """Change the tags of the bookmarks, which the query has selected.

    Each batch is one transaction. Changing a bookmark twice has no further effect, so a client can
    finish an interrupted change by sending the request again, with the number of bookmarks that are
    selected by then as its `expected`. Raises Busy, Full or Unavailable.
    """
    report = RetagReport(matched=len(entries))
    for start in range(0, len(entries), MAX_CHANGES):
        batch = entries[start : start + MAX_CHANGES]
        with store.transaction() as folder:
            outcomes = [_retag_one(folder, entry, retagging, report) for entry in batch]
        report.changed += outcomes.count("changed")
        report.unchanged += outcomes.count("unchanged")
    return report


def _retag_one(
    folder: Transaction, selected: Entry, retagging: Retagging, report: RetagReport
) -> str:
    """Put one bookmark with its new tags into the transaction; return the outcome."""
    id = selected.bookmark.id
    try:
        entry = folder.get(id)
        if entry is not selected and not meets(entry, retagging.query):
            return "unchanged"  # Another client has changed it since it was selected.
        fields = clean({"tags": retagging.apply(entry.bookmark.tags)})
        after = update(entry.bookmark, fields)
        folder.put(after, entry)
        return "unchanged" if after is entry.bookmark else "changed"
    except (Invalid, NotFound, Gone, Unreadable) as error:
        report.failed.append(FailedBookmark(id, str(error)))
        return "failed"
