"""Summary rows of a healthy audit, to be changed one fact at a time."""

from typing import Any

import pandas as pd

from pulsar_backlog.quality.summaries import COLUMNS

HEALTHY: dict[str, dict[str, Any]] = {
    "ledger_summary": {
        "topic": "persistent://lab/s3/chunk-none", "ledger_id": 291, "status": "scanned",
        "expected_entries": 14, "frames": 14, "decoded": 14, "rejected": 0, "entries_rows": 14,
        "rejects_rows": 0, "expected_bytes": 605776, "entry_bytes": 605776, "checksum_mismatch": 0,
        "order_faults": 0, "structure_faults": 0, "unreadable_units": 0, "min_entry_id": 0,
        "max_entry_id": 13, "distinct_entries": 14, "non_positive_lengths": 0, "beyond_object": 0,
        "publish_time_nulls": 0, "complete": True,
    },
    "topic_summary": {
        "topic": "persistent://lab/s3/chunk-none", "entries": 1000, "chunk_entries": 12, "chunks_rows": 12,
        "chunked_messages": 3, "copies_in_messages": 12, "max_publish_skew_ms": 12, "index_backwards": 0,
        "broker_time_backwards": 0, "publish_time_backwards": 0, "oldest_time_ms": 1795258600000,
        "newest_time_ms": 1795258700000, "largest_entry_bytes": 65000,
    },
    "audit_summary": {
        "copies_selected": 2, "copies_scanned": 2, "entries_rows": 28, "scans_decoded": 28, "rejects_rows": 1,
        "scans_rejected": 1, "topics": 1, "unknown_topic_ledgers": 0, "findings_errors": 0,
        "findings_incomplete": 0, "hours_since_newest": 2.5, "tables_present": 9, "tables_expected": 9,
    },
}  # fmt: skip


def frame(summary: str, *changes: dict[str, Any]) -> pd.DataFrame:
    """A summary with one healthy row per change, and that change made."""
    rows = [{"subject": "healthy", **HEALTHY[summary], **change} for change in changes]
    return pd.DataFrame(rows, columns=COLUMNS[summary])  # type: ignore[index]
