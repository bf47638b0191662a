"""Change bookmarks in batches. Each batch is one transaction."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from storage.errors import Conflict, Gone, Invalid, NotFound, StorageError, Unreadable
from storage.index import State
from storage.store import Store
from storage.transaction import Transaction

MAX_CHANGES = 200  # Each change opens a file, and 1,024 open files are a usual limit.

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
StateCheck = Callable[[State], None]  # Raises PreconditionFailed.

_ERRORS_OF_ONE_BOOKMARK = (Conflict, Invalid, NotFound, Gone, Unreadable)


class Done(NamedTuple, Generic[_Item, _Result]):
    """An item whose change is durable."""

    item: _Item
    result: _Result


class Failed(NamedTuple, Generic[_Item]):
    """An item that could not be changed."""

    item: _Item
    error: StorageError


Outcome = Done[_Item, _Result] | Failed[_Item]


def change_in_batches(
    store: Store,
    items: Iterable[_Item],
    change: Callable[[Transaction, _Item], _Result],
    check_state: StateCheck | None = None,
) -> Iterator[Outcome[_Item, _Result]]:
    """Change many items, and yield each outcome when it is durable.

    `check_state` is called before the first change. Raises the errors of `change_batch`.
    """
    for batch in split(items):
        yield from change_batch(store, batch, change, check_state)
        check_state = None


def split(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yield the items in lists of at most MAX_CHANGES."""
    batch: list[_Item] = []
    for item in items:
        batch.append(item)
        if len(batch) == MAX_CHANGES:
            yield batch
            batch = []
    if batch:
        yield batch


def change_batch(
    store: Store,
    items: Sequence[_Item],
    change: Callable[[Transaction, _Item], _Result],
    check_state: StateCheck | None = None,
) -> list[Outcome[_Item, _Result]]:
    """Change the items in one transaction.

    Raises Busy, Full or Unavailable if nothing is stored, and OutcomeUnknown if some changes
    may be stored.
    """
    outcomes: list[Outcome[_Item, _Result]] = []
    with store.transaction() as transaction:
        if check_state:
            check_state(transaction.state)
        for item in items:
            outcomes.append(_change_one(transaction, item, change))
    return outcomes


def _change_one(
    transaction: Transaction,
    item: _Item,
    change: Callable[[Transaction, _Item], _Result],
) -> Outcome[_Item, _Result]:
    try:
        return Done(item, change(transaction, item))
    except _ERRORS_OF_ONE_BOOKMARK as error:
        return Failed(item, error)
