"""Findings about the order of each topic's log (`B`): indexes, broker metadata, clocks, and the times of ledgers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from pulsar_backlog.chunks.clients.settings import DEFAULT_EXPIRY_MS
from pulsar_backlog.facts.stretch_fold import FARTHEST, PUBLISH_TOLERANCE_MS
from pulsar_backlog.findings import MAX_EVIDENCE, count_sentences
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps.finding_rows import DOUBT_OF_ROW, case_of

CLOCK_TOLERANCE_MS = DEFAULT_EXPIRY_MS
"""How far clocks may be apart: the default expiry of incomplete chunks, below which no client decides differently."""

_ABSENT = pa.schema([("topic", pa.string()), ("ledger_id", pa.int64())])
_SENTENCES = count_sentences("B01", "B02", "B03", "B04", "B05", "B06", "B07")


def findings_of_order(engine: QueryEngine, absent: Mapping[str, Collection[int]]) -> str:
    """SQL of what is noticed: one row per topic and code.

    Args:
        engine: knows `ledger_facts`, `ledgers` and `producers`.
        absent: topic -> ledgers that hold entries and were not scanned.
    """
    rows = [{"topic": topic, "ledger_id": ledger_id} for topic, ids in absent.items() for ledger_id in ids]
    engine.register("absent", pa.Table.from_pylist(rows, schema=_ABSENT))
    engine.materialize("seams", engine.sql("log", "seams", {"farthest": FARTHEST}))
    tolerances: dict[str, int | str] = {
        "publish_tolerance_ms": PUBLISH_TOLERANCE_MS, "clock_tolerance_ms": CLOCK_TOLERANCE_MS,
    }  # fmt: skip
    engine.create_view("steps", engine.sql("log", "steps", tolerances))
    values: dict[str, int | str] = {
        "farthest": FARTHEST, "max_evidence": MAX_EVIDENCE, "message": case_of("s.code", _SENTENCES),
        "doubt": DOUBT_OF_ROW,
    }  # fmt: skip
    return engine.sql("log", "order_findings", values)
