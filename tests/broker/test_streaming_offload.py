"""Streaming offload as Pulsar's own offloader writes and reads it; the broker of no release calls this code."""

from __future__ import annotations

from pathlib import Path

from tests.broker.streaming_offload import Read, Written, read, write
from tests.ledgers.encoding import OTHER_UUID, UUID, block_entry
from tests.ledgers.sources import see
from tests.ledgers.streaming.encoding import Stretch, closed, put_segment, segment
from tests.wire.encode import entry

EQUAL = [entry(payload=bytes([n]) * 200) for n in range(60)]
ANY = [entry(payload=bytes([n % 256]) * (n % 7 * 30)) for n in range(90)]
LARGE_FIRST = [entry(payload=b"x" * 900), *EQUAL[:20]]

OFFERED = {
    "padded": ([closed(5, ANY)], 20_000),
    "in blocks that go on behind their end": ([closed(5, EQUAL), closed(6, ANY)], 2000),
    "the rest of one, an open one": ([closed(5, ANY, 40), Stretch(6, 0, EQUAL[:7], None)], 3000),
    "entries that find no room": ([closed(5, LARGE_FIRST), closed(6, ANY)], 500),
}


def test_it_writes_what_the_encoder_of_the_tests_writes_and_it_is_read(tmp_path: Path) -> None:
    written = [
        Written(tmp_path / str(number), UUID, stretches, block_bytes)
        for number, (stretches, block_bytes) in enumerate(OFFERED.values())
    ]
    assert write(written, tmp_path) == ["done"] * len(written)
    for one in written:
        ours = segment(one.stretches, one.block_bytes, leave_out_first=True)
        assert (one.folder / UUID).read_bytes() == ours.data
        assert (one.folder / f"{UUID}-index").read_bytes() == ours.index
        seen = see(one.folder)
        for stretch in one.stretches:
            whole = list(enumerate(stretch.bodies, stretch.first))
            stored = [(entry_id, body) for entry_id, body in whole if block_entry(entry_id, body) in ours.data]
            assert seen.entries[stretch.ledger_id] == stored
            assert len(stored) > 5


def test_it_reads_what_the_encoder_of_the_tests_writes(tmp_path: Path) -> None:
    put_segment(tmp_path, segment([closed(5, EQUAL), closed(6, ANY)], 2000))
    put_segment(tmp_path, segment([closed(5, EQUAL)], 2000, leave_out_first=True), OTHER_UUID)
    right, also, lost = read(
        [Read(tmp_path, UUID, 5, 60), Read(tmp_path, UUID, 6, 90), Read(tmp_path, OTHER_UUID, 5, 60)], tmp_path
    )
    assert right == list(enumerate(EQUAL))
    assert also == list(enumerate(ANY))
    assert "TimeoutException" in lost  # its own index leads it into the middle of an entry, and it looks on forever
