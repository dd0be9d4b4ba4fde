"""The views of conf/sql on small tables of the real contracts, in both engines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.sql.duck import opened
from pulsar_backlog.sql.views import named_in
from pulsar_backlog.tableio.living import BY_LEDGER
from pulsar_backlog.tableio.work_size import DRIVER_WORK_SETTINGS, SMALL_WORK_SETTINGS
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.blank_rows import NOON, complete_row
from tests.small_tables import write_tables

NEEDS_SPARK = True

VIEWS = {path.stem: path.read_text() for path in (Path(__file__).parents[2] / "conf" / "sql").glob("*.sql")}

Ask = Callable[..., list[tuple[Any, ...]]]
"""Rows of a view over tables that hold these rows; columns not given are null, or empty where required."""


def ask_spark(spark: SparkSession, view: str, columns: list[str], **given: list[dict[str, object]]) -> list[tuple]:
    for name in {*named_in(view)[0], *given}:
        table = TABLES[name]
        nothing = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in table.columns)
        frame = spark.sql(f"SELECT {nothing} WHERE FALSE")  # most tables of most tests are empty
        if rows := given.get(name):
            made = [complete_row(table, row) for row in rows]
            frame = spark.createDataFrame(pa.Table.from_pylist(made, schema=arrow_schema(table))).coalesce(1)
        frame.createOrReplaceTempView(name)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS {VIEWS[view]}")
    return [tuple(row) for row in spark.table(view).select(*columns).collect()]


def ask_duckdb(out: Path, view: str, columns: list[str], **given: list[dict[str, object]]) -> list[tuple]:
    write_tables(out, **{"runs": [], **given})
    query = f"SELECT {', '.join(columns)} FROM {view}"
    with opened(str(out), query) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def small_work(spark: SparkSession) -> SparkSession:
    """A session with temporary views of its own, set as jobs set theirs for tables of a few rows."""
    session = spark.newSession()
    for name, value in (SMALL_WORK_SETTINGS | DRIVER_WORK_SETTINGS).items():
        session.conf.set(name, value)
    return session


@pytest.fixture(params=["spark", "duckdb"])
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Ask:
    """One engine and then the other."""
    if request.param == "duckdb":
        return lambda *view, **given: ask_duckdb(tmp_path, *view, **given)
    session = request.getfixturevalue("small_work")
    return lambda *view, **given: ask_spark(session, *view, **given)


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_each_view_begins_with_a_sentence_and_reads_what_exists(ask: Ask, view: str) -> None:
    first = VIEWS[view].splitlines()[0]
    assert first.startswith("-- ")
    assert first.endswith(".")
    assert ask(view, ["cluster"]) == []


def test_broken_chunked_messages(ask: Ask) -> None:
    rows = [
        {"chunk_uuid": "fine", "state": "whole"},
        {"chunk_uuid": "fine-in-two-ledgers", "state": "whole", "flags": ["ledger_span"]},
        {"chunk_uuid": "arriving", "state": "in_flight"},
        {"chunk_uuid": "saved", "state": "out_of_order", "rebuildable": True},
        {"chunk_uuid": "flagged", "state": "whole", "flags": ["overlap"], "rebuildable": True, "topic": "z"},
        {"chunk_uuid": "lost", "state": "gap", "first_ledger_id": 5, "first_entry_id": 7},
    ]
    got = ask("broken_chunked_messages", ["chunk_uuid", "first_position"], chunked_messages=rows)
    assert got == [("lost", "5:7"), ("saved", None), ("flagged", None), ("arriving", None)]


def test_rebuildable_messages(ask: Ask) -> None:
    rows = [
        {"chunk_uuid": "any-client-reads-it", "state": "whole", "rebuildable": True, "flags": ["whole_duplicate"]},
        {"chunk_uuid": "no-client-reads-it", "state": "out_of_order", "rebuildable": True},
        {"chunk_uuid": "old-clients-lose-it", "state": "whole", "rebuildable": True, "flags": ["repeated_prefix"]},
        {"chunk_uuid": "nobody-has-it", "state": "gap"},
    ]
    got = ask("rebuildable_messages", ["chunk_uuid"], chunked_messages=rows)
    assert sorted(got) == [("no-client-reads-it",), ("old-clients-lose-it",)]


def test_missing_byte_ranges(ask: Ask) -> None:
    rows = [
        {"chunk_uuid": "two-holes", "missing_bytes": [{"start": 30, "end": 40}, {"start": 0, "end": 10}]},
        {"chunk_uuid": "none"},
    ]
    got = ask("missing_byte_ranges", ["chunk_uuid", "start_byte", "end_byte", "bytes"], chunked_messages=rows)
    assert got == [("two-holes", 0, 10, 10), ("two-holes", 30, 40, 10)]


def test_chunk_outcomes(ask: Ask) -> None:
    rows = [
        {"topic": "a", "state": "whole", "rebuildable": True, "sureness": "certain", "copies": 3, "total_bytes": 10},
        {"topic": "a", "state": "whole", "rebuildable": True, "sureness": "likely", "copies": 4, "total_bytes": 20},
        {"topic": "a", "state": "gap", "sureness": "certain", "copies": 1, "total_bytes": 5},
        {"topic": "b", "state": "gap", "sureness": "certain", "copies": 2, "total_bytes": 6},
    ]
    columns = ["topic", "state", "messages", "rebuildable", "not_certain", "entries", "total_bytes"]
    assert ask("chunk_outcomes", columns, chunked_messages=rows) == [
        ("a", "gap", 1, 0, 0, 1, 5),
        ("a", "whole", 2, 2, 1, 7, 30),
        ("b", "gap", 1, 0, 0, 2, 6),
    ]


def test_topic_overview(ask: Ask) -> None:
    entries = [
        {"topic": "a", "ledger_id": 1, "length": 10, "producer_name": "p"},  # one bare message
        {"topic": "a", "ledger_id": 1, "length": 20, "producer_name": "p", "num_messages_in_batch": 7},
        {"topic": "a", "ledger_id": 2, "length": 30, "producer_name": "q", "uuid": "u"},  # a chunk is no message
        {"topic": "a", "ledger_id": 2, "length": 40, "producer_name": "q", "marker_type": 21},  # nor is a marker
        {"topic": "b", "ledger_id": 4, "length": 60, "producer_name": "p"},
        {"topic": None, "ledger_id": 3, "length": 50, "producer_name": "p"},  # nothing names its topic: before the rest
    ]
    chunked = [
        {"topic": "a", "state": "whole"},
        {"topic": "a", "state": "gap"},
        {"topic": "a", "state": "out_of_order", "rebuildable": True},
    ]
    columns = [
        *("topic", "ledgers", "entries", "plain_messages", "chunk_entries", "chunked_messages"),
        *("not_whole", "not_whole_but_rebuildable", "entry_bytes", "producers"),
    ]
    assert ask("topic_overview", columns, entries=entries, chunked_messages=chunked) == [
        ("a", 2, 4, 8, 1, 3, 2, 1, 100, 2),
        (None, 1, 1, 1, 0, 0, 0, 0, 50, 1),
        ("b", 1, 1, 1, 0, 0, 0, 0, 60, 1),
    ]


@pytest.mark.parametrize(
    ("ledger", "scan", "agrees"),
    [
        ({"expected_entries": 3, "expected_bytes": 9}, {}, True),
        ({}, {}, True),  # nothing is promised
        ({"expected_entries": 4, "expected_bytes": 9}, {}, False),  # an entry is missing
        ({"expected_entries": 3, "expected_bytes": 8}, {}, False),  # bytes are not those promised
        ({}, {"decoded": 1}, False),  # an entry is in no table
        ({}, {"complete": False}, False),  # a part could not be read
        ({}, {"copy": "another"}, False),  # this copy was not scanned
    ],
)
def test_ledger_reconciliation(ask: Ask, ledger: dict[str, object], scan: dict[str, object], agrees: bool) -> None:
    scan = {"copy": "c", "frames": 3, "decoded": 2, "rejected": 1, "entry_bytes": 9, "complete": True, **scan}
    ledgers = [{"copy": "c", "selected": True, **ledger}, {"copy": "spare", "selected": False}]
    got = ask("ledger_reconciliation", ["copy", "agrees"], ledgers=ledgers, scans=[scan])
    assert got == [("c", agrees)]


def test_worst_findings_come_first(ask: Ask) -> None:
    rows = [
        {"code": "E05", "severity": "info", "count": 1000},
        {"code": "C03", "severity": "warning", "count": 2},
        {"code": "C06", "severity": "error", "count": 1},
        {"code": "C09", "severity": "error", "count": 3},
    ]
    got = ask("worst_findings", ["code"], findings=rows)
    assert got == [("C09",), ("C06",), ("C03",), ("E05",)]


def test_rejected_entries_show_hex(ask: Ask) -> None:
    rows = [
        {"ledger_id": 1, "entry_id": 8, "entry_offset": 900, "first_bytes": b"\x0e\x01"},
        {"ledger_id": 1, "entry_id": 3, "entry_offset": 400, "first_bytes": b""},
    ]
    got = ask("rejected_entries", ["entry_id", "first_bytes"], rejects=rows)
    assert got == [(3, ""), (8, "0E01")]


def test_producers(ask: Ask) -> None:
    rows = [
        {"topic": "a", "producer_name": "p", "uuid": "u", "payload_length": 5, "publish_time": NOON},
        {"topic": "a", "producer_name": "p", "payload_length": 6, "publish_time": None},
        {"topic": "b", "producer_name": "p", "payload_length": 7},
        {"topic": "a", "producer_name": "pulsar.txn.marker", "marker_type": 21},  # the broker, not a producer
    ]
    columns = ["topic", "producer_name", "entries", "chunk_entries", "chunked_share", "payload_bytes"]
    assert ask("producers", columns, entries=rows) == [("a", "p", 2, 1, 0.5, 11), ("b", "p", 1, 0, 0.0, 7)]


def test_held_up_subscriptions(ask: Ask) -> None:
    reasons = [
        {"kind": kind, "code": None, "sureness": "likely", "evidence": f"e-{kind}", "remedy": "unload", "advice": "a"}
        for kind in ("pinned_to_dead", "delayed")
    ]
    rows = [
        {"topic": "t", "subscription": "two", "holdups": reasons, "backlog_entries": 4},
        {"topic": "t", "subscription": "none", "holdups": []},
        {"topic": "t", "subscription": "unknown", "holdups": None},
    ]
    limits = {"ranges": 1, "batch_entries": 1, "metadata_store_ranges": 1, "frame_bytes": 1, "long_array": False}
    rows = [row | {"limits": limits} for row in rows]
    found = ask("held_up_subscriptions", ["subscription", "kind", "evidence", "backlog_entries"], subscriptions=rows)
    assert sorted(found) == [("two", "delayed", "e-delayed", 4), ("two", "pinned_to_dead", "e-pinned_to_dead", 4)]


def test_chunk_manifests_name_the_chunks_in_order(ask: Ask) -> None:
    places = enumerate([(5, 9, 100, 10), (6, 0, 0, 10), (6, 1, 50, 3)])
    names = ("chunk_id", "ledger_id", "entry_id", "offset", "length")
    manifest = [dict(zip(names, (chunk, *place), strict=True)) for chunk, place in places]
    rows = [
        {"chunk_uuid": "rebuildable", "rebuildable": True, "manifest": manifest},
        {"chunk_uuid": "not", "manifest": []},
    ]
    got = ask("chunk_manifests", ["chunk_uuid", "positions"], chunked_messages=rows)
    assert got == [("rebuildable", ["5:9", "6:0", "6:1"])]


def test_stored_without_need(ask: Ask) -> None:
    scan = {"copy": "x", "complete": True, "frames": 3, "entry_bytes": 9, "data_bytes": 7}
    ledger = {"copy": "x", "expected_entries": 3, "expected_bytes": 9, "data_bytes": 7}
    inventory = [
        {"copy": "leftover", "leaks": True, "current_copy": "x", "bytes": 5},
        {"copy": "beside-a-copy-not-scanned", "leaks": True, "current_copy": "other", "bytes": 9},
        {"copy": "trimmed", "leaks": True, "bytes": 1},
        {"copy": "needed", "leaks": False, "bytes": 99},
    ]
    got = ask("stored_without_need", ["copy", "current_is_whole"], inventory=inventory, ledgers=[ledger], scans=[scan])
    assert got == [("beside-a-copy-not-scanned", False), ("leftover", True), ("trimmed", True)]


_LAYERS = ["copy", "layer", "verdict", "checked", "failed", "unchecked", "first_failed_code", "first_failed_offset"]
_COPY = {
    "copy": "c", "selected": True, "kind": "jcloud", "block_count": 2, "expected_entries": 3, "expected_bytes": 9,
    "data_uri": "d", "index_uri": "i",
}  # fmt: skip
_SCAN = {"copy": "c", "complete": True, "frames": 3, "decoded": 3, "entry_bytes": 9, "checksum_valid": 3}


@pytest.mark.parametrize(
    ("ledger", "scan", "layer", "expected"),
    [
        ({}, {}, "index", ("agrees", 1, 0, 0, None, None)),
        ({"index_uri": None}, {}, "index", ("not_checked", 0, 0, 1, None, None)),
        ({}, {}, "container", ("agrees", 2, 0, 0, None, None)),
        ({}, {"unreadable_units": 1}, "container", ("partly", 1, 0, 1, None, None)),
        ({}, {}, "record", ("agrees", 3, 0, 0, None, None)),
        ({"expected_entries": 5}, {}, "record", ("failed", 3, 2, 0, None, None)),  # two that nobody walked over
        ({"expected_entries": 5}, {"complete": False}, "record", ("partly", 3, 0, 2, None, None)),
        ({"expected_bytes": 8}, {}, "record", ("failed", 3, 1, 0, None, None)),
        ({}, {}, "message", ("agrees", 3, 0, 0, None, None)),
        ({}, {"checksum_valid": 1, "checksum_absent": 1, "rejected": 1}, "message", ("partly", 1, 0, 2, None, None)),
        ({}, {"checksum_valid": 0, "checksum_absent": 3}, "message", ("not_checked", 0, 0, 3, None, None)),
        ({}, {"copy": "another"}, "record", ("not_checked", 0, 0, 3, None, None)),
        ({}, {"copy": "another"}, "container", ("not_checked", 0, 0, 2, None, None)),
        ({"kind": "bookies", "expected_entries": 5}, {}, "record", ("partly", 3, 0, 2, None, None)),  # on other bookies
    ],
)
def test_integrity_layers(
    ask: Ask, ledger: dict[str, object], scan: dict[str, object], layer: str, expected: tuple[object, ...]
) -> None:
    got = ask("integrity", _LAYERS, ledgers=[{**_COPY, **ledger}], scans=[{**_SCAN, **scan}])
    layers = ["index", "container", "record", "message"]
    assert [row[1] for row in got] == (layers[1:] if ledger.get("kind") == "bookies" else layers)
    assert {row[1]: row[2:] for row in got}[layer] == expected


def test_integrity_names_the_first_byte_of_each_layer(ask: Ask) -> None:
    faults = [{"uri": "i", "code": "index_bad_length", "offset": 4, "field": "f"}]
    of_data = {"ledger_id": 0, "uri": "d"}
    rejects = [
        {**of_data, "scope": "structure", "code": "padding_bad", "offset": 90},
        {**of_data, "scope": "structure", "code": "block_bad_magic", "offset": 10},
        {**of_data, "scope": "structure", "code": "entry_id_out_of_order", "offset": 5},
        {**of_data, "scope": "entry", "code": "entry_too_short", "offset": 50},
        {**of_data, "uri": "elsewhere", "scope": "structure", "code": "padding_bad", "offset": 1},
    ]
    noted = [
        {"entry_id": 1, "offset": 300, "checksum_state": "mismatch"},
        {"entry_id": 2, "offset": 200, "checksum_state": "valid"},  # a chunk
    ]
    scan = {**_SCAN, "checksum_valid": 2, "checksum_mismatch": 1}
    ledger = {**_COPY, "structure_faults": faults}
    got = ask("integrity", _LAYERS, ledgers=[ledger], scans=[scan], rejects=rejects, noted_entries=noted)
    assert [(row[1], row[2], row[4], *row[6:]) for row in got] == [
        ("index", "failed", 1, "index_bad_length", 4),
        ("container", "failed", 2, "block_bad_magic", 10),
        ("record", "failed", 2, "entry_id_out_of_order", 5),
        ("message", "failed", 1, "checksum_mismatch", 300),
    ]


def test_integrity_of_a_ledger_in_files_of_bookies(ask: Ask) -> None:
    """Its faults lie in many files."""
    rejects = [
        {"uri": "b1/0.log", "scope": "structure", "code": "digest_mismatch", "offset": 70},
        {"uri": "b2/0.log", "scope": "structure", "code": "entries_elsewhere", "offset": 1},
        {"uri": "b2/1.log", "scope": "structure", "code": "log_record_cut", "offset": 8},
    ]
    got = ask("integrity", _LAYERS, ledgers=[{**_COPY, "kind": "bookies"}], scans=[_SCAN], rejects=rejects)
    assert [(row[1], row[2], row[4], *row[6:]) for row in got] == [
        ("container", "failed", 1, "log_record_cut", 8),
        ("record", "failed", 1, "digest_mismatch", 70),
        ("message", "agrees", 0, None, None),
    ]


def test_integrity_of_a_ledger_in_objects_of_streaming_offload(ask: Ask) -> None:
    """Its faults lie in many objects and indexes; `i` is only the first of these."""
    faults = [
        {"uri": "u2-index", "code": "index_bad_ledger", "offset": 24, "field": "index.ledger_id"},
        {"uri": "u2", "code": "bytes_after_last_block", "offset": 900, "field": "data"},
    ]
    rejects = [
        {"uri": "u3", "scope": "structure", "code": "block_bad_ledger", "offset": 28},
        {"uri": "u3", "scope": "structure", "code": "copies_differ", "offset": 70},
    ]
    ledger = {**_COPY, "kind": "streaming", "structure_faults": faults}
    got = ask("integrity", _LAYERS, ledgers=[ledger], scans=[_SCAN], rejects=rejects)
    assert [(row[1], row[2], row[4], *row[6:]) for row in got] == [
        ("index", "failed", 1, "index_bad_ledger", 24),
        ("container", "failed", 2, "block_bad_ledger", 28),
        ("record", "failed", 1, "copies_differ", 70),
        ("message", "agrees", 0, None, None),
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_what_is_written_by_ledger_knows_which_are_gone(view: str) -> None:
    tables = {*re.findall(r"(?:FROM|JOIN)\s+(\w+)", VIEWS[view])}
    assert not tables & BY_LEDGER or tables & {"gone_ledgers", "ledgers"}


@pytest.mark.parametrize("view", ["topic_overview", "producers", "seek_positions", "rejected_entries"])
def test_ledgers_that_are_gone_are_in_no_view(ask: Ask, view: str) -> None:
    table = "rejects" if view == "rejected_entries" else "entries"
    rows = [
        {"cluster": "c", "topic": "gone", "ledger_id": 1},
        {"cluster": "c", "topic": "here", "ledger_id": 2},
        {"cluster": "other", "topic": "its own", "ledger_id": 1},  # another cluster's ledger of that id
    ]
    got = ask(view, ["topic"], gone_ledgers=[{"cluster": "c", "topic": "gone", "ledger_id": 1}], **{table: rows})
    assert sorted(got) == [("here",), ("its own",)]


_SEGMENTS = [
    {"cluster": "c", "topic": "topic://t/n/a", "segment": "persistent://t/n/a", "segment_id": 0, "status": "sealed",
     "is_legacy": True, "ledgers": 1, "entries": 5, "bytes": 50, "subscriptions": ["queue", "stream"],
     "registered": ["stream"]},
    {"cluster": "c", "topic": "topic://t/n/a", "segment": "segment://t/n/a/0000-7fff-1", "segment_id": 1,
     "status": "sealed", "ledgers": 2, "entries": 7, "bytes": 70, "subscriptions": ["stream"],
     "registered": ["stream"]},
    {"cluster": "c", "topic": "topic://t/n/a", "segment": "segment://t/n/a/8000-ffff-2", "segment_id": 2,
     "status": "active", "ledgers": 1, "entries": 2, "bytes": 20, "subscriptions": ["stream"],
     "registered": ["stream"]},
    {"cluster": "c", "topic": "topic://t/n/a", "segment": "segment://t/n/a/0000-3fff-3", "segment_id": 3,
     "status": "pruned", "ledgers": 1, "entries": 9, "bytes": 90, "subscriptions": [], "registered": []},
    {"cluster": "c", "topic": "topic://t/n/b", "segment": "segment://t/n/b/0000-ffff-0", "segment_id": 0,
     "status": "unknown", "subscriptions": ["stream"], "registered": []},
]  # fmt: skip


_LIMITS = dict.fromkeys(("ranges", "batch_entries", "metadata_store_ranges", "frame_bytes"), 1) | {"long_array": True}


def test_a_scalable_topic_is_one_topic(ask: Ask) -> None:
    messages = [
        {"cluster": "c", "topic": "persistent://t/n/a", "state": "whole"},
        {"cluster": "c", "topic": "segment://t/n/a/0000-7fff-1", "chunk_uuid": "u", "state": "gap"},
        {"cluster": "c", "topic": "persistent://t/n/other", "chunk_uuid": "v", "state": "gap"},
        {"cluster": "other", "topic": "persistent://t/n/a", "chunk_uuid": "w", "state": "gap"},
    ]
    stalls: list[dict[str, object]] = [
        {"cluster": "c", "topic": "segment://t/n/a/8000-ffff-2", "subscription": "s", "stalls": 3, "limits": _LIMITS}
    ]
    findings = [
        {"cluster": "c", "topic": "topic://t/n/a", "code": "S53", "severity": "warning"},
        {"cluster": "c", "topic": "persistent://t/n/a", "code": "C01", "severity": "error"},
        {"cluster": "c", "topic": "topic://t/n/b", "code": "S50", "severity": "warning", "incomplete": True},
    ]
    tables = {"chunked_messages": messages, "subscriptions": stalls, "findings": findings}
    counts = ["topic", "segments", "active", "sealed", "pruned", "unknown", "migrated", "entries", "bytes"]
    health = ["chunked_messages", "not_whole", "stalls", "errors", "warnings", "incomplete"]
    assert ask("scalable_topics", [*counts, *health], segments=_SEGMENTS, **tables) == [
        ("topic://t/n/a", 4, 1, 2, 1, 0, 1, 23, 230, 2, 1, 3, 1, 1, False),
        ("topic://t/n/b", 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, True),
    ]


def test_cursors_of_all_segments_are_added_up(ask: Ask) -> None:
    """A queue has none on children; of a stream one is not known, so neither is the sum."""
    cursors = [
        {"topic": "persistent://t/n/a", "subscription": "queue", "backlog_entries": 3, "backlog_messages": 4},
        {"topic": "persistent://t/n/a", "subscription": "stream", "backlog_entries": 1, "backlog_messages": 1},
        {"topic": "segment://t/n/a/0000-7fff-1", "subscription": "stream", "backlog_entries": 2, "backlog_messages": 2},
        {"topic": "segment://t/n/a/8000-ffff-2", "subscription": "stream", "backlog_entries": 4},
        {"topic": "persistent://t/n/other", "subscription": "stream", "backlog_entries": 40, "backlog_messages": 40},
    ]
    rows = [{"cluster": "c", "limits": _LIMITS, **one} for one in cursors]
    columns = [
        "topic", "subscription", "registered", "cursors", "backlog_entries", "backlog_messages",
        "segments_without_cursor", "entries_without_cursor", "bytes_without_cursor",
    ]  # fmt: skip
    assert ask("scalable_subscriptions", columns, segments=_SEGMENTS, subscriptions=rows) == [
        ("topic://t/n/a", "queue", False, 1, 3, 4, 2, 9, 90),  # the pruned one holds nothing for anybody
        ("topic://t/n/a", "stream", True, 3, 7, None, 0, 0, 0),
        ("topic://t/n/b", "stream", False, 1, None, None, 0, 0, 0),
    ]


def test_messages_of_a_migrated_topic_are_one_history(ask: Ask) -> None:
    child = "segment://t/n/a/0000-7fff-1"
    places = [("persistent://t/n/a", 9, 0), (child, 7, 1), (child, 7, 0),
              ("persistent://t/n/other", 1, 0), ("segment://t/n/a/8000-ffff-2", 3, 0)]  # fmt: skip
    rows = [{"cluster": "c", "topic": topic, "ledger_id": ledger, "entry_id": at} for topic, ledger, at in places]
    gone = [{"cluster": "c", "topic": "segment://t/n/a/8000-ffff-2", "ledger_id": 3}]
    columns = ["topic", "segment_id", "ledger_id", "entry_id"]
    assert ask("scalable_messages", columns, segments=_SEGMENTS, messages=rows, gone_ledgers=gone) == [
        ("topic://t/n/a", 0, 9, 0),
        ("topic://t/n/a", 1, 7, 0),
        ("topic://t/n/a", 1, 7, 1),
    ]
