"""Messages that models count are what they would make of them entry by entry; what is odd is played."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest

from pulsar_backlog.chunks.clients.settings import Profile
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages
from pulsar_backlog.frames.clients import models as door
from pulsar_backlog.frames.clients.log_stream import Stretch, by_topic
from pulsar_backlog.frames.clients.models import ModelContext, run_models
from pulsar_backlog.frames.clients.rows import FEW_VALUES, PACKED_COLUMNS
from pulsar_backlog.frames.clients.whole_runs import WholeRun, whole_runs
from pulsar_backlog.tables import TABLES
from tests.chunks.clients.logs import consume, log, settings

Row = dict[str, Any]

SETTINGS = (
    "", "max_pending=1", "max_pending=2,auto_ack", "max_pending=0,expiry_seconds=1", "receiver_queue=3", "shared",
    "live", "receiver_queue=8,max_pending=3", "reconnect_after=1:20",
)  # fmt: skip
MODELS = tuple(f"{profile}:{given}" for profile in get_args(Profile) for given in SETTINGS)
NUMBERS = {
    "publish_time_ms": pa.int64(), "stored_ms": pa.int64(), "chunk_id": pa.int32(), "num_chunks": pa.int32(),
    "total_bytes": pa.int64(), "slice_bytes": pa.int64(), "uncompressed_bytes": pa.int64(), "copies": pa.int64(),
    "ledger_id": pa.int64(), "entry_id": pa.int64(), "end_ms": pa.int64(),
}  # fmt: skip
ODD: dict[str, tuple[Any, ...]] = {
    "chunk_id": (None, 0, 1, 7), "num_chunks": (None, 1, 2, 9), "total_bytes": (0, 5, 10_000),
    "slice_bytes": (0, 7, 300), "batched": (True,), "checksum": ("absent", "mismatch"), "codec": ("LZ4", "UNKNOWN"),
    "uncompressed_bytes": (None, 0, 5), "payload": FEW_VALUES["payload"], "uuid": ("", "again"),
}  # fmt: skip


def family(rng: random.Random, number: int) -> list[Row]:
    """The chunks of one message; a few are odd, short of a chunk, or stored twice."""
    count = rng.randint(2, 4)
    codec, stated = rng.choice([(None, None), (None, 0), (None, count * 100), ("ZLIB", 1000)])
    sureness, uuid = rng.choice(["certain", "likely"]), "again" if rng.random() < 0.25 else f"u{number}"
    rows: list[Row] = [
        {
            "uuid": uuid,
            "publish_time_ms": 1_000_000 + number * 10, "chunk_id": at, "num_chunks": count, "total_bytes": count * 100,
            "slice_bytes": 100, "batched": False, "checksum": "valid", "codec": codec, "payload": "fits",
            "uncompressed_bytes": stated, "sureness": sureness,
        }
        for at in range(count)
    ]  # fmt: skip
    if rng.random() < 0.3:
        name = rng.choice(list(ODD))
        rng.choice(rows)[name] = rng.choice(ODD[name])
    if rng.random() < 0.15:
        rows.pop(rng.randrange(count))
    if rng.random() < 0.1:
        rows.insert(rng.randrange(len(rows)), dict(rng.choice(rows)))
    return rows


def topic(seed: int) -> pa.RecordBatch:
    """Packed rows of one topic; now and then two messages lie one in the other."""
    rng, rows = random.Random(seed), list[Row]()
    for number in range(60):
        one = family(rng, number)
        if rows and rng.random() < 0.15:
            place = len(rows) - 1
            rows[place:place] = one
        else:
            rows += one
    copies = Counter((row["uuid"], row["publish_time_ms"]) for row in rows)
    stored: dict[tuple[str, int], set[int | None]] = {}
    for row in rows:
        stored.setdefault((row["uuid"], row["publish_time_ms"]), set()).add(row["chunk_id"])
    entry_id = 0
    for row in rows:
        key = row["uuid"], row["publish_time_ms"]
        entry_id += rng.choice([1, 1, 1, 3])
        row |= {
            "ledger_id": 1, "entry_id": entry_id, "stored_ms": 1_000_000 + entry_id * 40, "copies": copies[key],
            "whole": stored[key] >= set(range(row["num_chunks"] or 1)), "in_flight": False, "topic": "t",
        }  # fmt: skip
    for row in rows:
        row["end_ms"] = rows[-1]["stored_ms"]
        row["facts"] = int(np.ravel_multi_index(
            [values.index(row[name]) for name, values in FEW_VALUES.items()], [len(v) for v in FEW_VALUES.values()]
        ))  # fmt: skip
    names = [*PACKED_COLUMNS, "facts"]
    schema = pa.schema([(name, NUMBERS.get(name, pa.int64() if name == "facts" else pa.string())) for name in names])
    return pa.RecordBatch.from_pylist([{name: row[name] for name in names} for row in rows], schema=schema)


def made(rows: pa.RecordBatch, rows_per_batch: int) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {"consumer_outcomes": [], "client_forecasts": []}
    batches = pa.Table.from_batches([rows]).to_batches(rows_per_batch)
    for name, batch in run_models(batches, ModelContext("c", MODELS, {1: "t"})):
        found[name] += batch.to_pylist()
    return {name: sorted(rows, key=lambda row: [row[key] for key in TABLES[name].key]) for name, rows in found.items()}


def played(stretch: Stretch) -> Iterator[Stretch]:
    yield stretch


@pytest.mark.parametrize("few", [0, door.FEW])
@pytest.mark.parametrize("seed", range(12))
def test_counted_as_they_would_be_played(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "FEW", few)
    monkeypatch.setattr(door, "GATHERED", 1 if few else door.GATHERED)
    rows = topic(seed)
    counted = {size: made(rows, size) for size in (1000, 9)}
    monkeypatch.setattr(door, "whole_runs", played)
    as_played = made(rows, 1000)
    for size, tables in counted.items():
        for name, expected in as_played.items():
            assert tables[name] == expected, (size, name)


def test_a_go_client_plays_a_uuid_that_it_evicted_before() -> None:
    session, _ = consume(log("A0 B0 C0 C1 C2 B1 B2"), settings("G-NEW", max_pending=2))
    passed = {uuid: session.pass_whole(WholeMessages([uuid], [0], 3, 3000)) for uuid in "AD"}
    assert passed == {"A": False, "D": True}  # the uuid of A stays in the client's queue


def test_most_whole_messages_are_counted() -> None:
    parts = [part for _, stretches in by_topic([topic(1)]) for stretch in stretches for part in whole_runs(stretch)]
    counted = sum(len(part.first) for part in parts if isinstance(part, WholeRun))
    assert 25 < counted < 50
    rows = [part.stretch.rows if isinstance(part, WholeRun) else part.rows for part in parts]
    assert pa.Table.from_batches(rows) == pa.Table.from_batches([topic(1)])
