"""All that the files of bookies hold together: logs and indexes read, ledgers as they have them, and what they lack."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pulsar_backlog.ledgers.bookies.index import Index, read_indexes
from pulsar_backlog.ledgers.bookies.ledgers import LedgerFound, ledgers_found
from pulsar_backlog.ledgers.bookies.lone import believe_lone
from pulsar_backlog.ledgers.bookies.shortfalls import Shortfall, problem_of, shortfalls
from pulsar_backlog.ledgers.bookies.survey import Log, LogFound, read_logs
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject


@dataclass(frozen=True)
class Contents:
    """What was read.

    Attributes:
        logs: entry logs and journals.
        indexes: of ledger directories.
        ledgers: in order of their ids.
        short: ledgers of which an index names more than the logs have.
    """

    logs: list[LogFound]
    indexes: list[Index]
    ledgers: list[LedgerFound]
    short: list[Shortfall]


def read_contents(
    source: Source, logs: list[Log], indexes: Sequence[StoredObject], ledgers: Collection[int] | None = None
) -> Contents:
    """Read each file.

    Args:
        source: where they lie.
        logs: entry logs and journals, as listed.
        indexes: files of indexes, as listed.
        ledgers: only these ledgers; None for all.
    """
    read = list(read_logs(source, logs, ledgers))
    of_indexes = list(read_indexes(source, indexes))
    believe_lone(read, of_indexes)
    of_bookies = list(ledgers_found(read, ledgers))
    stored = {one.examined.pair.ledger_id: (one.first_entry, one.last_entry) for one in of_bookies}
    short = [one for one in shortfalls(of_indexes, stored) if ledgers is None or one.ledger_id in ledgers]
    by_ledger = {one.ledger_id: one for one in short if not one.is_whole}
    of_bookies = [_with_shortfall(one, by_ledger.get(one.examined.pair.ledger_id)) for one in of_bookies]
    return Contents(read, of_indexes, of_bookies, short)


def _with_shortfall(one: LedgerFound, short: Shortfall | None) -> LedgerFound:
    if short is None:
        return one
    problems = (*one.examined.problems, problem_of(short))
    return replace(one, examined=replace(one.examined, problems=problems))
