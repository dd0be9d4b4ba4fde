"""Chunks in a sealed segment whose message is whole in a child: a row for each reason that they are, or are not."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.steps.chunk_rows import name_chunk_entries
from tests.engines import ENGINES, asked_of, job_context
from tests.frames.rows import table_rows

NEEDS_SPARK = True

PARENT, CHILD, OTHER = "segment://t/ns/a/0000-ffff-0", "segment://t/ns/a/8000-ffff-2", "segment://t/ns/b/8000-ffff-2"


def send(topic: str, segment: int, entry_id: int, ids: str, name: str, **changes: Any) -> list[dict[str, Any]]:
    """Chunks of one send of three; its bytes go by `name`."""
    return [
        {"topic": topic, "ledger_id": 10 + segment, "entry_id": entry_id + n, "uuid": f"{name}-seg-{segment}-0",
         "producer_name": f"{name}-seg-{segment}", "publish_time_ms": 1_000 + segment, "chunk_id": int(id_),
         "num_chunks_from_msg": 3, "total_chunk_msg_size": 12, "payload_length": 4, "metadata_digest": 5,
         "payload_crc32c": 100 * len(name) + int(id_), "checksum_state": "valid", "is_encrypted": False, **changes}
        for n, id_ in enumerate(ids)
    ]  # fmt: skip


ROWS = [
    *send(PARENT, 0, 0, "01", "told"), *send(CHILD, 2, 5, "012", "told"),
    *send(PARENT, 0, 3, "01", "other bytes"), *send(CHILD, 2, 10, "012", "other bytes", payload_crc32c=9),
    *send(PARENT, 0, 6, "01", "other topic"), *send(OTHER, 2, 0, "012", "other topic"),
    *send(PARENT, 0, 9, "02", "with a hole"), *send(CHILD, 2, 20, "012", "with a hole"),
    *send(PARENT, 0, 12, "01", "both cut off"), *send(CHILD, 2, 24, "01", "both cut off"),
    *send(PARENT, 0, 15, "01", "unchecked", checksum_state="absent"), *send(CHILD, 2, 28, "012", "unchecked"),
    *send(PARENT, 0, 18, "01", "of another key"), *send(CHILD, 2, 32, "012", "of another key", metadata_digest=6),
    *send(PARENT, 0, 21, "01", "sent before", publish_time_ms=2_000), *send(CHILD, 2, 36, "012", "sent before"),
    *send("persistent://t/ns/a", 0, 0, "01", "no segment"), *send(CHILD, 2, 40, "012", "no segment"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_only_equal_bytes_in_another_segment_of_the_topic_tell(engine: str, spark: SparkSession) -> None:
    tables = {"noted_entries": table_rows("noted_entries", ROWS)}
    with asked_of(engine, job_context(spark), tables) as asked:
        name_chunk_entries(asked)
        found = asked.rows({"": asked.sql("chunks", "resent_in_children", {})})[""]
    assert [dict(row) for row in found] == [
        {"topic": PARENT, "chunk_uuid": "told-seg-0-0", "publish_time_ms": 1_000, "whole_topic": CHILD,
         "whole_ledger_id": 12, "whole_entry_id": 5},
    ]  # fmt: skip
