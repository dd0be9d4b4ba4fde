"""Facts folded while entries pass: what a scan task makes of the batches it decodes, besides the rows of `entries`.

A run is what one task sees of a ledger. Its facts are small and go to the driver, which joins the runs of a ledger.
Rows of the other fact tables go out as they come: a task holds no more than `producers.MOST_HELD` rows of producers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa

from pulsar_backlog.facts.ledger import Facts, both, with_stretch
from pulsar_backlog.facts.noted_entries import noted_entries, noted_rows
from pulsar_backlog.facts.producers import MOST_HELD, added_up, producer_rows
from pulsar_backlog.facts.spans import span_row
from pulsar_backlog.facts.steps import PublishTimes
from pulsar_backlog.facts.stretch import Stretch

ROW_TABLES = ("producer_facts", "entry_spans", "noted_entries")
"""Tables whose rows are made here; `ledger_facts` comes of the runs."""

MOST_NOTED = 8192
"""Noted entries that a task holds: what is made of them takes as long for one as for a thousand."""

Runs = dict[tuple[int, int], Facts]
"""By ledger and first entry."""


def with_facts(
    batches: Iterable[tuple[str, pa.RecordBatch]], cluster: str, done: Callable[[Runs], None]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """What a task scans, and what is made of its entries on the way, each with its table's name.

    Args:
        batches: rows of `entries` in the order of the log, one ledger after the other; rows of others between them.
        cluster: name of the cluster.
        done: called with each run that has ended.
    """
    facts = FactRuns(cluster, done)
    for table, batch in batches:
        yield table, batch
        if table == "entries":
            yield from facts.add(batch)
    yield from facts.end()


class FactRuns:
    """Takes batches of entries in the order of the log, one ledger after the other."""

    def __init__(self, cluster: str, done: Callable[[Runs], None]) -> None:
        """Call `done` with each run that has ended."""
        self._cluster, self._done = cluster, done
        self._key: tuple[int, int] | None = None
        self._facts: Facts | None = None
        self._producers: list[pa.RecordBatch] = []
        self._noted: list[pa.RecordBatch] = []
        self._noted_count = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Take entries of one ledger; rows of `ROW_TABLES`, each with its table's name."""
        stretch = Stretch(batch)
        if self._key is None or self._key[0] != stretch.ledger_id:
            yield from self._end_run()
            self._key = stretch.ledger_id, int(stretch.entry_ids[0])
        self._facts = with_stretch(self._facts, stretch)
        self._producers.append(producer_rows(stretch, self._cluster))
        if sum(rows.num_rows for rows in self._producers) > MOST_HELD:
            self._producers = [added_up(pa.concat_batches(self._producers))]
            if self._producers[0].num_rows > MOST_HELD // 2:
                yield from self._let_producers_go()
        yield "entry_spans", span_row(stretch, self._cluster)
        entries = noted_entries(stretch)
        if entries is not None:
            self._noted.append(entries)
            self._noted_count += entries.num_rows
            if self._noted_count > MOST_NOTED:
                yield from self._let_noted_go()

    def end(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """There are no more entries; rows that were held."""
        yield from self._end_run()
        yield from self._let_noted_go()

    def _end_run(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._key is not None and self._facts is not None:
            self._done({self._key: self._facts})
        self._key = self._facts = None
        yield from self._let_producers_go()

    def _let_producers_go(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._producers:
            one, *more = self._producers  # of one stretch, or added up: a row for each producer already
            yield "producer_facts", added_up(pa.concat_batches(self._producers)) if more else one
        self._producers = []

    def _let_noted_go(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._noted:
            yield "noted_entries", noted_rows(self._noted)
        self._noted, self._noted_count = [], 0


def joined_runs(
    runs: Mapping[tuple[int, int], Facts], times_of: Callable[[int, Facts], Iterable[PublishTimes]]
) -> dict[int, Facts]:
    """The facts of each ledger.

    Args:
        runs: as tasks saw them.
        times_of: the publish times of a ledger's run, for where those before it reach into it.
    """
    facts: dict[int, Facts] = {}
    for (ledger_id, _), run in sorted(runs.items(), key=lambda item: item[0]):
        facts[ledger_id] = both(facts.get(ledger_id), run, lambda of=(ledger_id, run): times_of(*of))  # type: ignore[misc]
    return facts
