"""The facts of a ledger are the same wherever it is cut, and however its parts are put together."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.facts.ledger import ledger_row
from pulsar_backlog.facts.noted_entries import noted_entries, noted_rows
from pulsar_backlog.facts.producers import added_up, producer_rows
from pulsar_backlog.facts.spans import span_row
from pulsar_backlog.facts.stretch import Stretch
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import task_schema
from tests.facts.build import batch_of, facts_in_parts, ledgers

CUTS = st.lists(st.integers(1, 11), max_size=5)


def row_of(batch: pa.RecordBatch, cuts: list[int], right_first: bool = False) -> dict[str, Any]:
    return ledger_row(facts_in_parts(batch, cuts, right_first), "c", "t", 5)


@given(ledgers(), CUTS)
def test_facts_of_a_ledger_do_not_depend_on_cuts(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    batch = batch_of(rows)
    whole = row_of(batch, [])
    assert row_of(batch, cuts) == whole
    assert row_of(batch, cuts, right_first=True) == whole


@given(ledgers(), CUTS)
def test_facts_of_producers_do_not_depend_on_cuts(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    batch = batch_of(rows)
    whole = producer_rows(Stretch(batch), "c")
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    parts = [producer_rows(Stretch(batch.slice(a, b - a)), "c") for a, b in itertools.pairwise(edges)]
    assert added_up(pa.concat_batches(parts)).to_pylist() == whole.to_pylist()
    assert added_up(whole).to_pylist() == whole.to_pylist()


@given(ledgers(), CUTS)
def test_facts_do_not_depend_on_dictionaries(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    batch = batch_of(rows)
    encoded = pa.RecordBatch.from_pylist(batch.to_pylist(), schema=task_schema(TABLES["entries"]))
    assert row_of(encoded, cuts) == row_of(batch, cuts)
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    for a, b in itertools.pairwise(edges):
        plain, dictionaries = (Stretch(one.slice(a, b - a)) for one in (batch, encoded))
        in_order = [producer_rows(one, "c").sort_by("producer_name") for one in (plain, dictionaries)]
        assert in_order[0].equals(in_order[1])
        assert span_row(dictionaries, "c").equals(span_row(plain, "c"))
        noted, others = noted_entries(plain), noted_entries(dictionaries)
        assert (noted is None) == (others is None)
        if noted is not None and others is not None:
            assert noted_rows([others]).equals(noted_rows([noted]))


@given(ledgers(), CUTS)
def test_what_is_noted_does_not_depend_on_cuts(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    batch = batch_of(rows)
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    found = [noted_entries(Stretch(batch.slice(a, b - a))) for a, b in itertools.pairwise(edges)]
    parts, whole = [part for part in found if part is not None], noted_entries(Stretch(batch))
    assert bool(parts) == (whole is not None)
    if whole is not None:
        rows_of_parts = [row for part in parts for row in noted_rows([part]).to_pylist()]
        assert rows_of_parts == noted_rows(parts).to_pylist() == noted_rows([whole]).to_pylist()
