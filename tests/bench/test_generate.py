"""What the generator writes, taken apart by hand: struct for the frames, generated protobuf for the metadata.

Neither the reader nor the generator's own encoder takes part in the checking.
"""

from __future__ import annotations

import hashlib
import random
import struct
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import google_crc32c
import numpy as np
import pytest

from bench.cycle import build_cycle
from bench.draft import Draft, big_endian, decimals, varints
from bench.generate import Spec, main, write_backlog
from pulsar_backlog.wire.proto import ledger_metadata_pb2, pulsar_messages_pb2

SMALL = Spec(entries=1000, entry_bytes=700, ledgers=3, chunk_share=0.2, chunks=3, batch_share=0.25, block_bytes=100_000)


@dataclass(frozen=True)
class Stored:
    """One entry as found in a data object."""

    ledger_id: int
    entry_id: int
    body: bytes
    broker: pulsar_messages_pb2.BrokerEntryMetadata
    metadata: pulsar_messages_pb2.MessageMetadata
    payload: bytes


def take_apart(folder: Path) -> list[Stored]:
    """All entries, ledger by ledger; every length, id, offset, header and padding byte is checked on the way."""
    entries: list[Stored] = []
    for index_path in sorted(folder.glob("*-index"), key=lambda path: path.name.split("-")[-2]):
        data = index_path.with_name(index_path.name.removesuffix("-index")).read_bytes()
        ledger_id = int(index_path.name.split("-")[-2])
        metadata, blocks = read_index(index_path.read_bytes(), len(data))
        here: list[Stored] = []
        for number, (first, part, offset) in enumerate(blocks):
            end = blocks[number + 1][2] if number + 1 < len(blocks) else len(data)
            magic, header_length, length, block_first = struct.unpack_from(">Iqqq", data, offset)
            assert (magic, header_length, length, block_first) == (0xFBDBABCB, 128, end - offset, first)
            assert (part, first) == (number + 1, len(here))
            assert data[offset + 28 : offset + 128] == bytes(100)
            here += read_block(ledger_id, data[offset + 128 : end], len(here))
        assert metadata.last_entry_id + 1 == len(here)
        assert metadata.length == sum(len(entry.body) for entry in here)
        entries += here
    return entries


def read_index(data: bytes, data_bytes: int) -> tuple[ledger_metadata_pb2.LedgerMetadata, list[tuple[int, int, int]]]:
    magic, length, promised, header, count, size = struct.unpack_from(">IiqqiI", data)
    assert (magic, length, promised, header) == (0xDE47DE47, len(data), data_bytes, 128)
    assert len(data) == 32 + size + 20 * count
    metadata = ledger_metadata_pb2.LedgerMetadata.FromString(data[32 : 32 + size])
    assert metadata.state == 3
    assert {c.key: c.value for c in metadata.custom_metadata}[b"pulsar/managed-ledger"] == (
        b"bench/scan/persistent/backlog"
    )
    return metadata, list(struct.iter_unpack(">qiq", data[32 + size :]))


def read_block(ledger_id: int, data: bytes, first: int) -> list[Stored]:
    found: list[Stored] = []
    position = 0
    while position + 12 <= len(data):
        length, entry_id = struct.unpack_from(">iq", data, position)
        if length < 0:
            break
        assert entry_id == first + len(found)
        found.append(read_entry(ledger_id, entry_id, data[position + 12 : position + 12 + length]))
        position += 12 + length
    padding = data[position:]
    assert padding == (b"\xfe\xdc\xde\xad" * (len(padding) // 4 + 1))[: len(padding)]
    return found


def read_entry(ledger_id: int, entry_id: int, body: bytes) -> Stored:
    rest, broker = body, pulsar_messages_pb2.BrokerEntryMetadata()
    if rest[:2] == b"\x0e\x02":
        size = int.from_bytes(rest[2:6])
        broker.ParseFromString(rest[6 : 6 + size])
        rest = rest[6 + size :]
    assert rest[:2] == b"\x0e\x01"
    assert google_crc32c.value(rest[6:]) == int.from_bytes(rest[2:6])
    size = int.from_bytes(rest[6:10])
    metadata = pulsar_messages_pb2.MessageMetadata.FromString(rest[10 : 10 + size])
    # The shortest form of every field, in order: what a real writer leaves.
    assert metadata.SerializeToString(deterministic=True) == rest[10 : 10 + size]
    return Stored(ledger_id, entry_id, body, broker, metadata, rest[10 + size :])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[Stored]:
    folder = tmp_path_factory.mktemp("small")
    written = write_backlog(SMALL, folder)
    entries = take_apart(folder)
    assert len(entries) == written.entries
    assert 1000 <= written.entries <= 1000 + SMALL.chunks - 1
    assert len(list(folder.iterdir())) == 2 * SMALL.ledgers
    return entries


def test_shares_of_chunks_batches_and_keys_are_as_asked(small: list[Stored]) -> None:
    chunks = sum(e.metadata.HasField("uuid") for e in small)
    batches = sum(e.metadata.HasField("num_messages_in_batch") for e in small)
    keyed = sum(e.metadata.HasField("partition_key") for e in small)
    singles = len(small) - chunks - batches
    assert chunks / len(small) == pytest.approx(0.2, abs=0.01)
    assert batches / len(small) == pytest.approx(0.25, abs=0.01)
    assert keyed / singles == pytest.approx(0.3, abs=0.01)


def messages_of(entry: Stored) -> int:
    return entry.metadata.num_messages_in_batch if entry.metadata.HasField("num_messages_in_batch") else 1


def test_counters_run_on_over_entries_and_ledgers(small: list[Stored]) -> None:
    index, sequence = small[0].broker.index, small[0].metadata.sequence_id
    for before, entry in pairwise(small):
        index += messages_of(entry)
        if not entry.metadata.chunk_id:
            sequence += messages_of(before)
        assert entry.broker.index == index
        assert entry.metadata.sequence_id == sequence
        assert entry.metadata.publish_time >= before.metadata.publish_time
        assert entry.broker.broker_timestamp >= max(before.broker.broker_timestamp, entry.metadata.publish_time)


def test_chunked_messages_are_whole_and_their_chunks_agree(small: list[Stored]) -> None:
    groups: dict[bytes, list[Stored]] = {}
    for entry in small:
        if entry.metadata.HasField("uuid"):
            groups.setdefault(entry.metadata.uuid, []).append(entry)
    assert len(groups) > 50
    for uuid, chunks in groups.items():
        first = chunks[0].metadata
        assert [c.metadata.chunk_id for c in chunks] == list(range(SMALL.chunks))
        assert {c.metadata.num_chunks_from_msg for c in chunks} == {SMALL.chunks}
        assert len({(c.ledger_id, c.metadata.publish_time, c.metadata.sequence_id) for c in chunks}) == 1
        assert uuid == first.producer_name + b"-%d" % first.sequence_id
        sizes = {(c.metadata.total_chunk_msg_size, c.metadata.uncompressed_size) for c in chunks}
        assert sizes == {(sum(len(c.payload) for c in chunks),) * 2}


@pytest.mark.parametrize("entries", range(600, 606))
def test_a_backlog_ends_with_a_whole_message_wherever_it_is_cut(entries: int, tmp_path: Path) -> None:
    write_backlog(replace(SMALL, entries=entries, ledgers=1, chunk_share=1.0), tmp_path)
    last = take_apart(tmp_path)[-1].metadata
    assert last.chunk_id == last.num_chunks_from_msg - 1


def test_batches_hold_the_messages_they_name(small: list[Stored]) -> None:
    for entry in small:
        if not entry.metadata.HasField("num_messages_in_batch"):
            continue
        rest = entry.payload
        assert entry.metadata.uncompressed_size == len(rest)
        assert SMALL.entry_bytes - 2 * SMALL.batch <= len(rest) <= SMALL.entry_bytes
        for _ in range(entry.metadata.num_messages_in_batch):
            size = int.from_bytes(rest[:4])
            member = pulsar_messages_pb2.SingleMessageMetadata.FromString(rest[4 : 4 + size])
            rest = rest[4 + size + member.payload_size :]
        assert rest == b""
        last = entry.metadata.sequence_id + entry.metadata.num_messages_in_batch - 1
        assert entry.metadata.highest_sequence_id == last


def test_no_two_payloads_are_alike(small: list[Stored]) -> None:
    assert len({hashlib.sha256(e.payload).digest() for e in small}) == len(small)


def test_the_same_spec_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    def digest(spec: Spec, name: str) -> str:
        write_backlog(spec, tmp_path / name)
        files = sorted((tmp_path / name).iterdir())
        return hashlib.sha256(b"".join(f.name.encode() + f.read_bytes() for f in files)).hexdigest()

    spec = replace(SMALL, entries=100)
    assert digest(spec, "a") == digest(spec, "b")
    assert digest(spec, "a") != digest(replace(spec, seed=2), "c")


@pytest.mark.parametrize(
    "spec",
    [
        replace(SMALL, entries=1, ledgers=1, chunk_share=0.0),  # a cycle of one entry
        replace(SMALL, entries=7, ledgers=1, chunk_share=1.0, batch_share=0.0),  # nothing but chunks
        replace(SMALL, entries=30, entry_bytes=0, batch_share=0.0, key_share=0.0),  # empty payloads
        replace(SMALL, entries=40, properties=0, broker_metadata=False),
        replace(SMALL, entries=40, entry_bytes=45_000),  # two entries to a block, much padding
        replace(SMALL, entries=40, properties=12, batch_share=1.0, entry_bytes=128),  # the least room for batches
    ],
)
def test_odd_specs_are_written_right(spec: Spec, tmp_path: Path) -> None:
    written = write_backlog(spec, tmp_path)
    entries = take_apart(tmp_path)
    assert len(entries) == written.entries >= spec.entries
    assert all(e.broker.HasField("index") == spec.broker_metadata for e in entries)
    singles = [e for e in entries if not e.metadata.HasField("num_messages_in_batch")]
    assert {len(e.metadata.properties) for e in singles} <= {spec.properties}
    assert {len(e.payload) for e in singles} <= {spec.entry_bytes}


def test_entries_that_fit_no_block_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not fit blocks"):
        write_backlog(replace(SMALL, entry_bytes=100_000), tmp_path)


def test_command_line_writes_the_same_as_the_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--entries", "50", "--entry-bytes", "64", "--chunk-share", "0.5", "--no-broker-metadata"]
    assert main(["--out", str(tmp_path / "a"), *options]) == 0
    assert '"entries": 5' in capsys.readouterr().out
    spec = Spec(entries=50, entry_bytes=64, chunk_share=0.5, broker_metadata=False)
    write_backlog(spec, tmp_path / "b")
    assert [f.name for f in sorted((tmp_path / "a").iterdir())] == [f.name for f in sorted((tmp_path / "b").iterdir())]


def test_an_entry_put_together_by_hand() -> None:
    """Producer "p", sequence 0, publish time 1000, payload "hi": bytes worked out on paper from Commands.java."""
    draft = Draft()
    draft.add(b"\x0a\x01p\x10\x00")
    draft.number(3, 2, 1000, 0)
    rows = np.zeros((1, len(draft.data)), np.uint8)
    rows[0] = np.frombuffer(bytes(draft.data), np.uint8)
    for patch in draft.patches:
        patch.apply(rows, 0)
    covered = struct.pack(">I", len(draft.data)) + rows.tobytes() + b"hi"
    entry = b"\x0e\x01" + struct.pack(">I", google_crc32c.value(covered)) + covered
    assert entry.hex() == "0e0116f2f2f7000000080a0170100018e8076869"


def test_numbers_are_encoded_in_their_width() -> None:
    assert varints(np.array([128, 300]), 2).tolist() == [[0x80, 1], [0xAC, 2]]
    assert varints(np.array([0, 127]), 1).tolist() == [[0], [127]]
    assert decimals(np.array([7, 123]), 3).tobytes() == b"007123"
    assert big_endian(np.array([258]), 8).tobytes() == bytes(6) + b"\x01\x02"


@pytest.mark.parametrize(("value", "width"), [(127, 2), (1 << 14, 2)])
def test_a_varint_that_would_change_its_width_is_refused(value: int, width: int) -> None:
    with pytest.raises(ValueError, match="not all varints"):
        varints(np.array([value]), width)


def test_cycles_of_large_entries_stay_small() -> None:
    cycle = build_cycle(replace(SMALL, entry_bytes=5_000_000), random.Random(1), 200, 1_764_000_000_000)
    assert len(cycle.prototype) < 40_000_000
