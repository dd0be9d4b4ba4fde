"""The summary frames that rules speak about: one small row per ledger, per topic, and for the audit.

Rules run on these and never on single entries: Great Expectations is several times slower than one aggregation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

Summary = Literal["ledger_summary", "topic_summary", "audit_summary"]

COLUMNS: dict[Summary, tuple[str, ...]] = {
    "ledger_summary": (
        "subject", "topic", "ledger_id", "status", "expected_entries", "frames", "decoded", "rejected",
        "entries_rows", "rejects_rows", "expected_bytes", "entry_bytes", "checksum_mismatch", "order_faults",
        "structure_faults", "unreadable_units", "min_entry_id", "max_entry_id", "distinct_entries",
        "non_positive_lengths", "beyond_object", "publish_time_nulls", "complete",
    ),
    "topic_summary": (
        "subject", "topic", "entries", "chunk_entries", "chunks_rows", "chunked_messages", "copies_in_messages",
        "max_publish_skew_ms", "index_backwards", "broker_time_backwards", "publish_time_backwards",
        "oldest_time_ms", "newest_time_ms", "largest_entry_bytes",
    ),
    "audit_summary": (
        "subject", "copies_selected", "copies_scanned", "entries_rows", "scans_decoded", "rejects_rows",
        "scans_rejected", "topics", "unknown_topic_ledgers", "findings_errors", "findings_incomplete",
        "hours_since_newest", "tables_present", "tables_expected",
    ),
}  # fmt: skip
"""Columns of each summary; `subject` names the row to a reader."""

DERIVED: dict[Summary, dict[str, Callable[[pd.DataFrame], pd.Series[float]]]] = {
    "ledger_summary": {"accounted_for": lambda frame: frame["decoded"] + frame["rejected"]},
    # No entries make no share: 0 / 0 is null, and null passes.
    "topic_summary": {"publish_time_backwards_share": lambda frame: frame["publish_time_backwards"] / frame["entries"]},
    "audit_summary": {},
}
"""Columns that rules may name besides, made here from the others."""


def frames(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, pd.DataFrame]:
    """A frame for each summary from its rows, of which there may be none."""
    return {name: pd.DataFrame(rows[name], columns=list(columns)) for name, columns in COLUMNS.items()}


def with_derived(summary: Summary, frame: pd.DataFrame) -> pd.DataFrame:
    """A summary with its derived columns, and rows numbered from 0.

    Raises:
        ValueError: the frame lacks columns.
    """
    missing = [name for name in COLUMNS[summary] if name not in frame.columns]
    if missing:
        raise ValueError(f"{summary} lacks {', '.join(missing)}")
    return frame.reset_index(drop=True).assign(**DERIVED[summary])
