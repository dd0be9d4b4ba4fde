"""Which entries are noted, and what their digests tell apart."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.facts.digest import REPLICATION_POSITION, metadata_digests
from pulsar_backlog.facts.noted_entries import noted_entries, noted_rows
from pulsar_backlog.facts.stretch import Stretch
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT
from tests.facts.build import batch_of, ledgers, time_of

PLACE = {"cluster": "c", "topic": "t", "ledger_id": 5, "entry_id": 0, "checksum_state": "valid"}


@given(ledgers())
def test_chunks_ends_of_transactions_and_damaged_entries_are_noted(rows: list[dict[str, Any]]) -> None:
    def is_noted(row: dict[str, Any]) -> bool:
        marker = row["marker_type"]
        chunk_fields = any(row.get(name) is not None for name in ("uuid", "chunk_id", "num_chunks_from_msg"))
        ends = marker in (TXN_COMMIT, TXN_ABORT)
        return (chunk_fields and marker is None) or ends or row["checksum_state"] == "mismatch"

    found = noted_entries(Stretch(batch_of(rows)))
    ids = found.column("entry_id").to_pylist() if found else []
    assert ids == [row["entry_id"] for row in rows if is_noted(row)]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        pytest.param({"uuid": "p-1"}, {"has_key": False, "is_encrypted": False, "uuid": "p-1"}, id="a chunk"),
        pytest.param({"uuid": "", "partition_key": ""}, {"has_key": True, "uuid": ""}, id="an empty key is a key"),
        pytest.param({"uuid": "u", "encryption_keys": []}, {"is_encrypted": True}, id="an empty list of keys is one"),
        pytest.param(
            {"uuid": "u", "broker_timestamp": time_of(1_700_000_000_123)},
            {"broker_timestamp_ms": 1_700_000_000_123},
            id="milliseconds",
        ),
        pytest.param({"uuid": "u"}, {"broker_timestamp_ms": None}, id="no broker time"),
    ],
)
def test_columns_of_its_own(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    noted = noted_entries(Stretch(batch_of([PLACE | given_])))
    assert noted is not None
    found = noted_rows([noted])
    assert found.to_pylist() == [found.to_pylist()[0] | expected]


TEXT = st.none() | st.sampled_from(("", "a", "b", "ab"))
BYTES = st.none() | st.sampled_from((b"", b"\0", b"\0\0", b"a"))
TRUTH = st.none() | st.booleans()
NUMBER = st.none() | st.sampled_from((0, 1, -1, 2**63 - 1, -(2**63)))
TIME = st.none() | st.sampled_from((time_of(1), time_of(2)))
KEYS = ("a", "b", "ab", "", REPLICATION_POSITION)
PROPERTIES = st.none() | st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("", "a", "b")), min_size=1, max_size=3)
SHARED = st.fixed_dictionaries(
    {
        "partition_key": TEXT, "partition_key_b64_encoded": TRUTH, "null_partition_key": TRUTH, "ordering_key": BYTES,
        "event_time": TIME, "schema_version": BYTES, "schema_id": BYTES, "deliver_at_time": TIME,
        "txnid_most_bits": NUMBER, "txnid_least_bits": NUMBER, "null_value": TRUTH, "properties": PROPERTIES,
    }
)  # fmt: skip


@given(st.lists(SHARED, min_size=1, max_size=30), st.integers(0, 29))
def test_digests_are_equal_for_equal_metadata_only(rows: list[dict[str, Any]], start: int) -> None:
    batch = batch_of([PLACE | row for row in rows])
    digests = metadata_digests(batch).tolist()
    by_metadata = defaultdict(set)
    for row, digest in zip(rows, digests, strict=True):
        pairs = {key: value for key, value in (row["properties"] or {}).items() if key != REPLICATION_POSITION}
        shared = tuple(row[name] for name in row if name != "properties")
        by_metadata[repr((shared, sorted(pairs.items())))].add(digest)
    assert all(len(same) == 1 for same in by_metadata.values())
    assert len(set().union(*by_metadata.values())) == len(by_metadata)
    assert metadata_digests(batch.slice(start)).tolist() == digests[start:]  # wherever it is cut


def test_the_order_of_properties_does_not_matter() -> None:
    one, other = [("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]
    batch = batch_of([PLACE | {"properties": pairs} for pairs in (one, other)])
    assert isinstance(batch.column("properties"), pa.MapArray)
    assert len(set(metadata_digests(batch).tolist())) == 1


def test_a_stored_digest_stays_what_it_is() -> None:
    """Chunks of one message may be scanned by two versions of this program."""
    rows = [{}, {"partition_key": "k", "properties": {"a": "1"}}, {"txnid_most_bits": 1, "event_time": time_of(1)}]
    digests = metadata_digests(batch_of([PLACE | row for row in rows])).tolist()
    assert digests == [0, 14_039_736_388_441_254_357, 1_368_775_160_429_816_098]
