"""Findings about chunked messages: per topic, what is wrong with how many of them, and where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa

from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.chunks.settings import FRAME_PADDING_BYTES
from pulsar_backlog.chunks.verdict_findings import FLAG_CODES, NO_LOSS, STATE_CODES
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.findings import count_sentences
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps.finding_rows import case_of, counted, listed
from pulsar_backlog.steps.topic_stats import name_limits
from pulsar_backlog.terms import INCOMPLETE
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT

COUNTED = count_sentences(
    "C01", "C02", "C03", "C04", "C05", "C06", "C07", "C08", "C09",
    "C10", "C11", "C12", "C13", "C14", "C15", "C16", "C17", "C18", "C22",
    "C27", "C30", "C38", "C31", "C33", "C34", "C35", "C36", "C37",
)  # fmt: skip

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
    "slices_near_limit": {"padding": FRAME_PADDING_BYTES},
}
"""Queries of conf/chunks that give codes with their places, and what they take."""

_TOPIC_FACTS = pa.schema([("topic", pa.string()), ("is_deduplicated", pa.bool_()), ("is_seen_to_end", pa.bool_())])


@dataclass(frozen=True)
class TopicFacts:
    """What is known of topics beside their log; both empty without admin JSON.

    Attributes:
        deduplicated: topics on which the broker drops duplicates.
        seen_to_end: topics whose scan reaches the broker's last entry.
    """

    deduplicated: Collection[str] = ()
    seen_to_end: Collection[str] = ()

    @classmethod
    def of(cls, edges: Mapping[str, LogEdge], state: ClusterState | None) -> TopicFacts:
        """What the ends of logs and saved state tell."""
        topics = state.topics.values() if state else ()
        return cls(
            deduplicated=[topic.topic for topic in topics if topic.deduplicated],
            seen_to_end=[topic for topic, edge in edges.items() if edge.complete_to_end],
        )

    def rows(self) -> pa.Table:
        """Each topic of which something is known, with what."""
        deduplicated, seen_to_end = set(self.deduplicated), set(self.seen_to_end)
        rows = [
            {"topic": topic, "is_deduplicated": topic in deduplicated, "is_seen_to_end": topic in seen_to_end}
            for topic in sorted(deduplicated | seen_to_end)
        ]
        return pa.Table.from_pylist(rows, schema=_TOPIC_FACTS)


def findings_of_chunks(engine: QueryEngine, topic_facts: TopicFacts, max_message_bytes: int | None = None) -> str:
    """SQL of what is noticed: one row per topic and code; positions are those of the first copies.

    Args:
        engine: knows `chunked_messages`, `noted_entries`, `chunk_entries` and `producers`.
        topic_facts: what is known beside the log.
        max_message_bytes: `maxMessageSize` of the brokers, where it was saved.
    """
    engine.register("known", topic_facts.rows())
    name_limits(engine, max_message_bytes)
    return counted(engine, COUNTED, *(engine.sql("chunks", name, values) for name, values in _VALUES.items()))
