"""What the consumer models read: columns of few values travel as one number and come back as they were."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.frames.clients.rows import MODEL_COLUMNS, UNKNOWN_CODEC, unpacked
from pulsar_backlog.steps.chunk_rows import name_chunk_entries, packed_model_rows
from tests.engines import ENGINES, as_it_comes, asked_of, job_context
from tests.frames.rows import NOON_MS, entry, fact_rows, table_rows

NEEDS_SPARK = True

TOPIC = "persistent://t/n/x"
PLAIN = {"batched": False, "checksum": "valid", "codec": None, "payload": "fits", "whole": True, "in_flight": False}
MESSAGES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "nothing special": ({}, {}, {}),
    "lz4": ({"compression": "LZ4"}, {}, {"codec": "LZ4"}),
    "snappy, the last that has a name": ({"compression": "SNAPPY"}, {}, {"codec": "SNAPPY"}),
    "no codec, said aloud": ({"compression": "NONE"}, {}, {}),
    "a codec without a name": ({"compression": "UNKNOWN(7)"}, {}, {"codec": UNKNOWN_CODEC}),
    "a batch count": ({"num_messages_in_batch": 1}, {}, {"batched": True}),
    "wrong checksum": ({"checksum_state": "mismatch"}, {}, {"checksum": "mismatch"}),
    "no checksum": ({"checksum_state": "absent"}, {}, {"checksum": "absent"}),
    "no message": ({}, {"decode_state": "fault"}, {"payload": "garbage"}),
    "claims too much": (
        {}, {"decode_state": "wrong_size", "decoded_bytes": 1, "uncompressed_bytes": 2}, {"payload": "claim_too_large"},
    ),
    "not looked at": ({}, {"decode_state": "not_checked"}, {"payload": "unknown"}),
    "still arriving": ({}, {"state": "in_flight"}, {"whole": False, "in_flight": True}),
    "nobody can tell": (
        {}, {"state": "incomplete", "sureness": "cannot_tell"}, {"whole": False, "sureness": "cannot_tell"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=ENGINES)
def found(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, dict[str, Any]]:
    """What the tasks find of each message, by its name."""
    entries, publications = [], []
    for n, (name, (entry_given, found_given, _expected)) in enumerate(MESSAGES.items()):
        chunk = {"uuid": name, "chunk_id": 0, "num_chunks_from_msg": 2, "publish_time_ms": NOON_MS}
        entries.append(entry(TOPIC, 1, n, **chunk, **entry_given))
        message = {"topic": TOPIC, "chunk_uuid": name, "publish_time_ms": NOON_MS, "copies": n, "sureness": "certain"}
        publications.append(message | {"state": "whole", "decode_state": "ok"} | found_given)
    tables = fact_rows(entries) | {"chunked_messages": table_rows("chunked_messages", publications)}
    with asked_of(request.param, job_context(spark), tables) as asked:
        name_chunk_entries(asked)
        (told,) = asked.map_in_tasks(packed_model_rows(asked), as_it_comes, "batch binary").collect()
    handed_over = pa.ipc.open_stream(told["batch"]).read_next_batch()
    columns = {name: handed_over.column(name).to_pylist() for name in handed_over.schema.names}
    columns |= unpacked(handed_over.column("facts"))
    assert set(columns) == {*MODEL_COLUMNS, "facts"}
    return {uuid: {name: values[at] for name, values in columns.items()} for at, uuid in enumerate(columns["uuid"])}


@pytest.mark.parametrize("name", MESSAGES)
def test_comes_back_as_it_was(name: str, found: dict[str, dict[str, Any]]) -> None:
    expected = PLAIN | {"sureness": "certain"} | MESSAGES[name][2]
    assert {column: found[name][column] for column in expected} == expected


def test_what_does_not_travel_as_a_number_is_untouched(found: dict[str, dict[str, Any]]) -> None:
    assert [row["copies"] for row in found.values()] == [row["entry_id"] for row in found.values()]
