"""Messages taken out of MapFiles, and entries of them published again: as out of objects that hold the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, LogEdge, Publication
from pulsar_backlog.errors import SourceError
from pulsar_backlog.frames.chunks.fold import FoldContext, check_payload
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.messages.entry_rows import ExportContext, export_stretch, stretches
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.messages.ranges import RangeReader, range_of
from pulsar_backlog.messages.rebuild import ChunkedMessage, Copy, rebuild_message
from pulsar_backlog.repair.applying.sealed_entries import CHANGED, read_stored
from pulsar_backlog.repair.broker.cluster import Ledgers
from pulsar_backlog.repair.values import AsStored, StoredEntry
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.ledgers import encoding as jcloud
from tests.ledgers.mapfile.encoding import Style, map_file, put_map_file
from tests.ledgers.sources import put, see
from tests.scanning.scans import Row, scanned
from tests.wire.encode import entry

DATA = Path(__file__).parents[1] / "data"
SOURCE = DATA / "mapfiles" / "source"
KEYS = KeySource(str(DATA / "export" / "keys"))


@pytest.fixture(scope="module")
def entries() -> dict[int, list[Row]]:
    return scanned(open_source(str(SOURCE)))[0]


def truths(topic: str) -> set[str]:
    """SHA-256 of what any reader got."""
    files = (DATA / "mapfiles" / "expected" / "truth").glob(f"{topic}.*.jsonl")
    return {json.loads(line)["sha256"] for file in files for line in file.read_text().splitlines()}


def chunked(rows: list[Row]) -> list[ChunkedMessage]:
    """The chunked messages among rows of `entries`, planned by hand."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["uuid"] is not None:
            found.setdefault(row["uuid"], []).append(row)
    return [
        ChunkedMessage(
            uuid, own[0]["publish_time_ms"], own[0]["total_chunk_msg_size"], own[0]["uncompressed_size"],
            own[0]["compression"], own[0]["encryption_keys"] is not None, tuple((copy_of(row),) for row in own),
        )
        for uuid, own in found.items()
    ]  # fmt: skip


def copy_of(row: Row) -> Copy:
    names = ("ledger_id", "entry_id", "uri", "offset", "length", "payload_offset", "inner_offset", "block_length")
    return Copy(*(row[name] for name in names))


def reader_of(source: Source, message: ChunkedMessage) -> RangeReader:
    ranges = (range_of(copy.place) for copies in message.copies for copy in copies)
    return RangeReader(source.read, ranges, BlockOpener(source))


@pytest.mark.parametrize(("ledger_id", "topic"), [(186, "py-chunk-lz4"), (194, "py-enc-chunk")])
def test_a_chunked_message_is_what_a_client_read(
    ledger_id: int, topic: str, entries: dict[int, list[Row]], tmp_path: Path
) -> None:
    source = open_source(str(SOURCE))
    (message,) = chunked(entries[ledger_id])
    reader = reader_of(source, message)
    rebuilt = rebuild_message(message, reader, KEYS.ring(), PayloadStore(str(tmp_path), 1 << 20, 1 << 30))
    assert rebuilt.verified, rebuilt.reason
    assert rebuilt.payload is not None
    assert rebuilt.payload.sha256 in truths(topic)
    assert reader.bytes_read <= sum({copies[0].block_length or 0 for copies in message.copies})  # each block once


def publication(rows: list[Row]) -> Publication:
    """As the fold makes it of these entries."""
    made = []
    for row in rows:
        if row["uuid"] is None:
            continue
        payload = copy_of(row).payload_place
        made.append(
            ChunkRow(
                row["ledger_id"],
                row["entry_id"],
                row["uuid"],
                row["publish_time_ms"],
                row["chunk_id"],
                row["num_chunks_from_msg"],
                row["total_chunk_msg_size"],
                payload.path,
                payload.offset,
                payload.length,
                row["payload_crc32c"],
                row["checksum_state"],
                row["producer_name"],
                row["sequence_id"],
                row["compression"],
                row["uncompressed_size"],
                False,
                None,
                0,
                None,
                payload.inner_offset,
                payload.block_length,
            )
        )
    edge = LogEdge(None, 0, {}, frozenset(), None, True, (), False, True, True)
    return fold_family(made, edge).publications[0]


def test_the_payload_check_decompresses_twice(entries: dict[int, list[Row]]) -> None:
    """The block, and in it the message."""
    found = publication(entries[186])
    assert found.decode_state == "not_checked"
    checked = check_payload(found, FoldContext("c", {}, open_source(str(SOURCE))))
    assert (checked.decode_state, checked.decoded_bytes) == ("ok", 250_000)
    wrong = replace(found, manifest=tuple(one._replace(inner_offset=one.inner_offset + 1) for one in found.manifest))
    assert check_payload(wrong, FoldContext("c", {}, open_source(str(SOURCE)))).decode_state == "fault"


PLAN = ("ledger_id", "entry_id", "offset", "length", "inner_offset", "block_length", "txn_state", "batched")


def exported(source: Source, rows: list[Row], folder: Path) -> list[Row]:
    """Messages of plan rows of entries that are no chunks."""
    plan = [row | {"txn_state": 0, "batched": int(row["num_messages_in_batch"] is not None)} for row in rows]
    table = pa.Table.from_pylist(
        [{name: row[name] for name in (*PLAN, "uri")} for row in plan],
        pa.schema([*((n, pa.int64()) for n in PLAN), ("uri", pa.string())]),
    )
    topics: dict[int, str | None] = {row["ledger_id"]: "t" for row in rows}
    context = ExportContext("c", topics, source, KEYS, PayloadStore(str(folder), 1 << 20, 1 << 30))
    schema = arrow_schema(TABLES["messages"])
    parts = (part for batch in table.combine_chunks().to_batches() for part in stretches(batch))
    found = [row for part in parts for batch in export_stretch(part, context, schema) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["ledger_id"], row["entry_id"], row["batch_index"]))


def without_places(rows: list[Row]) -> list[Row]:
    ids = [[(one["ledger_id"], one["entry_id"], one["length"]) for one in row["positions"]] for row in rows]
    return [row | {"positions": own} for row, own in zip(rows, ids, strict=True)]


def test_plain_messages_and_batches(entries: dict[int, list[Row]], tmp_path: Path) -> None:
    bodies = see(SOURCE).entries
    for copy in take_inventory(open_source(str(SOURCE))).copies:
        offloaded = jcloud.offload([body for _, body in bodies[copy.ledger_id]], managed_ledger=copy.managed_ledger)
        put(tmp_path / "objects", offloaded, copy.ledger_id)
    objects = open_source(str(tmp_path / "objects"))
    same = scanned(objects)[0]
    for ledger_id, topic in ((71, "batch-keybased"), (72, "schema-string"), (31, "raw-nochecksum")):
        source = open_source(str(SOURCE))
        rows = exported(source, entries[ledger_id], tmp_path)
        assert without_places(rows) == without_places(exported(objects, same[ledger_id], tmp_path))
        assert {row["payload_sha256"] for row in rows} == truths(topic)
        opener = BlockOpener(source)
        for row in rows:  # the payload lies where the row says
            (place,) = (copy_of(one | {"payload_offset": 0}).place for one in row["positions"])
            stored = opener.read(place).tobytes()
            if row["state"] == "single" and not row["compression"]:
                assert hashlib.sha256(stored).hexdigest() == row["payload_sha256"]


@pytest.mark.parametrize("how", ["NONE", "RECORD", "BLOCK"])
def test_what_cannot_be_read_any_more_is_a_row_that_says_so(how: str, tmp_path: Path) -> None:
    bodies = [entry(payload=b"%d" % n * 200) for n in range(40)]
    file = put_map_file(tmp_path, map_file(bodies, Style(how, block_bytes=2500)), checksums=False) / "data"
    source = open_source(str(tmp_path))
    rows = scanned(source)[0][7]
    data = file.read_bytes()
    assert {row["outcome"] for row in exported(source, rows, tmp_path)} == {"exported"}
    file.write_bytes(data[: len(data) * 2 // 3])
    found = exported(source, rows, tmp_path)
    assert [row["entry_id"] for row in found] == list(range(40))
    outcomes = [row["outcome"] for row in found]
    first_bad = outcomes.index("unreadable")
    assert 20 < first_bad < 32
    assert set(outcomes[first_bad:]) == {"unreadable"}
    assert all(row["payload"] == b"%d" % row["entry_id"] * 200 for row in found[:first_bad])


def test_encrypted_entries_are_published_as_they_are_stored(entries: dict[int, list[Row]], tmp_path: Path) -> None:
    bodies = dict(see(SOURCE).entries[194])
    rows = [row for row in entries[194] if row["uuid"] is not None]
    stored = tuple(
        StoredEntry(
            (194, row["entry_id"]), row["uri"], row["offset"], row["length"], row["checksum"], row["inner_offset"],
            row["block_length"],
        )
        for row in rows
    )  # fmt: skip
    found = read_stored(Ledgers(), AsStored(str(SOURCE), stored))
    assert [one.payload for one in found] == [bodies[row["entry_id"]][row["payload_offset"] :] for row in rows]
    other = replace(stored[0], inner_offset=(stored[0].inner_offset or 0) + 1)
    with pytest.raises(SourceError) as caught:
        read_stored(Ledgers(), AsStored(str(SOURCE), (other, *stored[1:])))
    assert caught.value.reason == CHANGED
