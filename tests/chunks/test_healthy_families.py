"""The fold column by column says what the row-wise fold says, whatever is odd and wherever batches are cut."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from pulsar_backlog.chunks.healthy_families import healthy, whole_families
from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.frames.chunks.fold import FoldContext, fold_batches, fold_rows
from pulsar_backlog.ledgers.store import Source

EDGE = LogEdge(2_000_000, 1000, {}, frozenset(), None, True, (), False, True, True)
CONTEXT = FoldContext("c", {"t": EDGE, "u": EDGE}, Source("/nowhere", None))
NUMBERS = (
    "ledger_id", "entry_id", "publish_time_ms", "payload_offset", "payload_crc32c", "sequence_id",
    "uncompressed_size", "metadata_digest", "broker_timestamp_ms", "producer_last_ledger_id", "producer_last_entry_id",
    "inner_offset", "block_length",
)  # fmt: skip
INTS = ("chunk_id", "num_chunks", "total_bytes", "payload_length", "num_messages_in_batch")
TEXTS = ("topic", "chunk_uuid", "uri", "checksum_state", "producer_name", "compression")
SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in NUMBERS),
        *((name, pa.int32()) for name in INTS),
        *((name, pa.string()) for name in TEXTS),
        ("encrypted", pa.bool_()),
    ]
)
ODD: dict[str, tuple[Any, ...]] = {
    "chunk_id": (None, 0, 5, -1),
    "num_chunks": (None, 1, 9),
    "total_bytes": (None, 1, 10_000),
    "payload_length": (0, 5, 101, 99),
    "publish_time_ms": (-1, 1_000_001, 1 << 62),
    "checksum_state": ("mismatch", "absent"),
    "compression": ("NONE", "UNKNOWN(9)", None),
    "uncompressed_size": (None, 7),
    "encrypted": (True,),
    "num_messages_in_batch": (1, 3),
    "metadata_digest": (43,),
    "broker_timestamp_ms": (None, 1),
    "producer_name": ("q",),
    "sequence_id": (8,),
    "ledger_id": (4,),
}
"""What can be odd about a row."""


def family(number: int, rng: random.Random) -> list[dict[str, Any]]:
    n, size, encrypted = rng.randint(1, 6), rng.randint(1, 200), rng.random() < 0.3
    last = rng.choice((rng.randint(1, size), size, size, 0, size + 3))  # the last two are cut as no producer cuts
    tag = 16 if encrypted else 0
    stated = rng.choice((None, 0, size * (n - 1) + last, size * (n - 1) + last, 7))  # the last may lie
    return [
        {
            "topic": rng.choice("tu") if i == 0 else "", "chunk_uuid": f"p-{number}", "ledger_id": 3,
            "entry_id": number * 100 + i, "publish_time_ms": 1_000_000 + number, "chunk_id": i, "num_chunks": n,
            "total_bytes": size * (n - 1) + last, "uri": f"object-{i % 3}", "payload_offset": i, "payload_crc32c": i,
            "payload_length": (size if i < n - 1 else last) + tag, "checksum_state": "valid", "producer_name": "p",
            "sequence_id": number, "compression": "ZSTD" if encrypted else None,
            "uncompressed_size": 99 if encrypted else stated,
            "encrypted": encrypted, "num_messages_in_batch": None, "metadata_digest": 42,
            "broker_timestamp_ms": 1_000_010 + i, "producer_last_ledger_id": 3, "producer_last_entry_id": 99_999,
        }
        for i in range(n)
    ]  # fmt: skip


def rows(seed: int) -> list[dict[str, Any]]:
    """Families in the order the fold gets them: a third of them odd in one to three ways."""
    rng = random.Random(seed)
    found = []
    for number in range(60):
        own = family(number, rng)
        for row in own:
            row["topic"] = own[0]["topic"]
        for _ in range(rng.choice((0, 0, 0, 0, 1, 3))):
            name = rng.choice(list(ODD))
            rng.choice(own)[name] = rng.choice(ODD[name])
        if rng.random() < 0.1:
            own.pop(rng.randrange(len(own)))
        found += own
    return sorted(found, key=lambda row: (row["topic"], row["chunk_uuid"], row["ledger_id"], row["entry_id"]))


def cut(found: list[dict[str, Any]], size: int) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pylist(found[at : at + size], schema=SCHEMA) for at in range(0, len(found), size)]


def publications(batches: Any) -> list[dict[str, Any]]:
    found = [row for batch in batches for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["topic"], row["chunk_uuid"], row["publish_time_ms"]))


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("seed", range(12))
def test_both_ways_say_the_same(seed: int, size: int) -> None:
    found = rows(seed)
    wanted = publications(fold_rows(cut(found, 10_000), CONTEXT))
    assert publications(fold_batches(cut(found, size), CONTEXT)) == wanted


def test_most_families_go_the_short_way() -> None:
    chosen = [bool(one) for part in whole_families(cut(rows(1), 50)) for one in healthy(part)]
    assert len(chosen) > 50
    assert 0.3 < sum(chosen) / len(chosen) < 1


def test_no_family_is_cut() -> None:
    for size in (1, 3, 1000):
        seen: set[tuple[str, str]] = set()
        for part in whole_families(cut(rows(2), size)):
            keys = {(row["topic"], row["chunk_uuid"]) for row in part.rows.to_pylist()}
            assert not keys & seen
            assert len(keys) == len(part.first)
            seen |= keys
