"""What tasks see of ledgers becomes the same facts, however ledgers are dealt out to tasks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.facts import producers
from pulsar_backlog.facts.ledger import Facts, ledger_row
from pulsar_backlog.facts.spans import publish_times_of
from pulsar_backlog.facts.steps import PublishTimes
from pulsar_backlog.scanning import fact_runs
from pulsar_backlog.scanning.fact_runs import FactRuns, Runs, joined_runs
from tests.facts.build import batch_of, facts_in_parts, ledgers

Rows = dict[str, list[pa.RecordBatch]]


def scanned(tasks: list[list[pa.RecordBatch]]) -> tuple[Runs, Rows]:
    """The runs and rows of tasks that see these batches."""
    runs: Runs = {}
    rows: Rows = {"producer_facts": [], "entry_spans": [], "noted_entries": []}
    for task in tasks:
        facts = FactRuns("c", runs.update)
        for batch in task:
            for name, made in facts.add(batch):
                rows[name].append(made)
        for name, made in facts.end():
            rows[name].append(made)
    return runs, rows


@given(ledgers(5), ledgers(6), st.lists(st.integers(1, 11), max_size=4), st.sets(st.integers(0, 8)))
def test_ledgers_dealt_out_to_tasks(
    one: list[dict[str, Any]], other: list[dict[str, Any]], cuts: list[int], ends: set[int]
) -> None:
    batches: list[pa.RecordBatch] = []
    for rows in (one, other):
        edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
        batches += [batch_of(rows).slice(a, b - a) for a, b in pairwise(edges)]
    edges = sorted({0, len(batches), *(end for end in ends if end < len(batches))})
    runs, made = scanned([batches[a:b] for a, b in pairwise(edges)])
    spans = pa.concat_batches(made["entry_spans"])

    def times_of(ledger_id: int, run: Facts) -> Iterable[PublishTimes]:
        for row, span in enumerate(spans.select(["ledger_id", "first_entry_id"]).to_pylist()):
            inside = run.order.first.entry_id <= span["first_entry_id"] <= run.order.last.entry_id
            if span["ledger_id"] == ledger_id and inside:
                yield publish_times_of(spans, row)

    facts = joined_runs(runs, times_of)
    for ledger_id, rows in ((5, one), (6, other)):
        whole = facts_in_parts(batch_of(rows), [])
        assert ledger_row(facts[ledger_id], "c", "t", ledger_id) == ledger_row(whole, "c", "t", ledger_id)
    assert sum(spans.column("entries").to_pylist()) == len(one) + len(other)
    whole_producers = scanned([[batch_of(one), batch_of(other)]])[1]["producer_facts"]
    both = [producers.added_up(pa.concat_batches(found)) for found in (made["producer_facts"], whole_producers)]
    assert both[0].to_pylist() == both[1].to_pylist()


def test_many_producers_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of producers go out before the end where there are many, and add up to the same."""
    monkeypatch.setattr(fact_runs, "MOST_HELD", 10)
    place = {"cluster": "c", "topic": "t", "ledger_id": 5, "checksum_state": "valid"}
    entries = [place | {"entry_id": n, "producer_name": f"p{n % 40}", "length": 1} for n in range(200)]
    batch = batch_of(entries)
    _, made = scanned([[batch.slice(n, 5) for n in range(0, 200, 5)]])
    rows = made["producer_facts"]
    assert max(part.num_rows for part in rows) <= 20
    assert len(rows) > 5
    found = producers.added_up(pa.concat_batches(rows)).to_pylist()
    assert {row["producer_name"]: (row["entries"], row["first_entry_id"]) for row in found} == {
        f"p{n}": (5, n) for n in range(40)
    }
