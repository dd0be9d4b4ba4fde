"""Findings about chunked messages: per topic, what is wrong with how many of them, and where."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa

from pulsar_backlog.chunks.settings import FRAME_PADDING_BYTES
from pulsar_backlog.chunks.verdict_findings import FLAG_CODES, NO_LOSS, STATE_CODES
from pulsar_backlog.sql.asking import Asking
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.steps.finding_rows import case_of, counted, listed
from pulsar_backlog.steps.topic_stats import LIMIT
from pulsar_backlog.terms import INCOMPLETE
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT

COUNTED = {
    "C01": "Chunked messages that are stored whole, in order and undamaged",
    "C02": "Chunked messages with a repeated beginning (stored again before they were complete)",
    "C03": "Chunked messages with overlapping chunks (some stored twice before they were complete)",
    "C04": "Whole chunked messages followed by a rest of themselves",
    "C05": "Chunked messages that are stored whole more than once",
    "C06": "Chunked messages without their end",
    "C07": "Chunked messages that may still be arriving",
    "C08": "Chunked messages without their first chunk",
    "C09": "Chunked messages with chunks missing in the middle",
    "C10": "Chunked messages that are complete but out of order",
    "C11": "Chunked messages whose chunks contradict each other",
    "C12": "Chunked messages whose uuid other sends use as well",
    "C13": "Chunked messages whose sizes or counts contradict their bytes",
    "C14": "Chunked messages that cannot be decompressed",
    "C15": "Chunked messages with invalid chunk fields",
    "C16": "Chunked messages of which deduplication dropped chunks",
    "C17": "Whole chunked messages followed by their own beginning",
    "C18": "Chunked messages that were completed in another order than their producer numbered them",
    "C22": "Chunked messages that lie in more than one ledger",
    "C27": "Chunked messages that end the topic and are never delivered",
    "C30": "Chunked messages that a transaction hides",
    "C38": "Chunked messages of transactions of which the log does not tell whether they were committed",
    "C31": "Producers whose chunks leave no room for their header",
    "C33": "Chunked messages that a client joins with another one",
    "C34": "Chunked messages with a damaged chunk",
    "C35": "Chunked messages of which two copies of a chunk differ",
    "C36": "Chunked messages that are cut unevenly or hold an empty chunk",
    "C37": "First chunks of chunked messages that were resent and are stored whole",
}

_VALUES: dict[str, dict[str, int | str]] = {
    "own_codes": {
        "flag_code": case_of("flag", FLAG_CODES),
        "state_code": case_of("state", STATE_CODES),
        "no_loss": portable_literal(NO_LOSS),
    },
    "lost_to_deduplication": {"no_loss": portable_literal(NO_LOSS)},
    "sequence_inversions": {},
    "blocked_tails": {"incomplete": listed(INCOMPLETE)},
    "hidden_by_transactions": {"commit": TXN_COMMIT, "abort": TXN_ABORT},
    "slices_near_limit": {"limit": LIMIT, "padding": FRAME_PADDING_BYTES},
}
"""Queries of conf/chunks that give codes with their places, and what they take."""

_KNOWN = pa.schema([("topic", pa.string()), ("is_deduplicated", pa.bool_()), ("is_seen_to_end", pa.bool_())])


@dataclass(frozen=True)
class Known:
    """What is known of topics beside their log; both empty without admin JSON.

    Attributes:
        deduplicated: topics on which the broker drops duplicates.
        seen_to_end: topics whose scan reaches the broker's last entry.
    """

    deduplicated: Collection[str] = ()
    seen_to_end: Collection[str] = ()

    def rows(self) -> pa.Table:
        """Each topic of which something is known, with what."""
        deduplicated, seen_to_end = set(self.deduplicated), set(self.seen_to_end)
        rows = [
            {"topic": topic, "is_deduplicated": topic in deduplicated, "is_seen_to_end": topic in seen_to_end}
            for topic in sorted(deduplicated | seen_to_end)
        ]
        return pa.Table.from_pylist(rows, schema=_KNOWN)


def findings_of_chunks(asked: Asking, known: Known) -> str:
    """SQL of what is noticed: one row per topic and code; positions are those of the first copies.

    Args:
        asked: knows `chunked_messages`, `noted_entries`, `chunk_entries` and `producers`.
        known: what is known beside the log.
    """
    asked.hold("known", known.rows())
    return counted(asked, COUNTED, *(asked.sql("chunks", name, values) for name, values in _VALUES.items()))
