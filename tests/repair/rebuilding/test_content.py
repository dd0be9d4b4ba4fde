"""What of a stored topic is published again, as it was, and what is left out or told."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.repair.rebuilding.content import Content, as_sent, take_content
from pulsar_backlog.wire.entry import decode_entry
from tests.auditing import DATA
from tests.ledgers.bookies.encoding import entry_log, put_log, record
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put, see
from tests.wire.encode import REQUIRED, entry, number, run

EXPORT = DATA / "export" / "objects"
TXN = "persistent://lab/s3/txn"


def content_of(source: str | Path, admin: Path | None = None, **scope: object) -> Content:
    return take_content(open_source(str(source)), admin, Scope(**scope))  # type: ignore[arg-type]


def test_entries_are_published_byte_for_byte_in_order() -> None:
    stored = see(EXPORT).entries
    for ledger_id in (57, 181):  # encrypted, and chunked and compressed
        content = content_of(EXPORT, ledgers=((ledger_id, ledger_id),))
        sent = list(content.sendables())
        assert [one.position for one in sent] == [(ledger_id, n) for n, _ in stored[ledger_id]]
        for one, (_, body) in zip(sent, stored[ledger_id], strict=True):
            layout = decode_entry(body).layout
            assert layout.checksum_offset is not None
            assert one.data == body[layout.checksum_offset - 2 :]
            metadata = decode_entry(one.data).metadata
            assert one.is_chunk is (metadata.uuid is not None)
            assert one.messages == (metadata.num_messages_in_batch or 1)
        assert (content.tally.damaged, content.tally.changed, content.tally.entries) == (0, 0, len(sent))
    chunked = content_of(EXPORT, ledgers=((181, 181),)).tally
    assert (chunked.chunks, chunked.is_encrypted) == (3, False)


def test_of_transactions_only_what_was_committed() -> None:
    truth = json.loads((DATA / "export" / "expected" / "sent-txn-4.0.8.json").read_text())
    wanted = [(row["e"], row["sha256"]) for row in truth if row["out"] in ("none", "commit")]
    content = content_of(EXPORT, topics=(TXN,))
    found = []
    for one in content.sendables():
        read = decode_entry(one.data)
        assert (read.checksum_state, read.metadata.txnid_most_bits, read.metadata.txnid_least_bits) == (
            "valid", None, None,
        )  # fmt: skip
        payload = one.data[read.layout.payload_offset :]
        found.append((one.position[1], hashlib.sha256(payload).hexdigest()))
    assert found == wanted
    tally = content.tally
    assert (tally.entries, tally.changed, tally.markers, tally.uncommitted) == (8, 3, 2, 4)


def test_schema_versions_of_the_old_topic_are_left_out_and_all_else_stays(tmp_path: Path) -> None:
    unknown = number(4000, 7)
    body = entry(REQUIRED + run(16, b"\0\0\0\0\0\0\0\x03") + unknown, b"typed")
    put(tmp_path, offload([body]))
    (one,) = content_of(tmp_path).sendables()
    read = decode_entry(one.data)
    assert (read.metadata.schema_version, read.checksum_state) == (None, "valid")
    assert one.data.endswith(b"typed")
    assert unknown in one.data
    assert len(as_sent(body)) - len(one.data) == len(run(16, bytes(8)))


def test_damage_is_told_by_place_and_left_out(tmp_path: Path) -> None:
    bodies = [entry(payload=b"%d" % n * 50) for n in range(10)]
    damaged = bodies[4][:-1] + b"?"
    records = [record(7, n, damaged if n == 4 else body) for n, body in enumerate(bodies) if n not in (6, 7)]
    put_log(tmp_path / "bookie", entry_log(records))
    content = content_of(tmp_path)
    assert content.tally.places == ["7:4 is damaged", "7:6 to 7:7 are missing"]
    assert (content.tally.damaged, content.tally.open_ledgers) == (3, [7])
    assert [one.position[1] for one in content.sendables()] == [0, 1, 2, 3, 5, 8, 9]


def test_what_a_broker_recorded_is_missed_at_the_end_and_between(tmp_path: Path) -> None:
    topic, admin = "persistent://lab/s3/orders", tmp_path / "admin"
    put_log(tmp_path / "bookie", entry_log([record(7, n, entry()) for n in range(3)]))
    ledgers = [{"ledgerId": 7, "entries": 5, "size": 500}, {"ledgerId": 8, "entries": 2, "size": 10}]
    said = {"ledgers": ledgers, "lastConfirmedEntry": "8:1", "state": "LedgerOpened"}
    admin.mkdir()
    (admin / "lab__s3__orders.internalStats.json").write_text(json.dumps(said))
    tally = content_of(tmp_path / "bookie", admin, topics=(topic,)).tally
    assert tally.places == ["ledger 8 is missing or cannot be read", "7:3 to 7:4 are missing"]
    assert (tally.damaged, tally.open_ledgers) == (3, [])


def test_ledgers_of_several_topics_are_no_topic() -> None:
    with pytest.raises(UsageError, match=r"of several topics .*: name one with --topic"):
        content_of(EXPORT)
    with pytest.raises(UsageError, match="no ledger within --topic"):
        content_of(EXPORT, topics=("none",))


def test_as_sent_leaves_out_what_the_broker_added() -> None:
    sent = entry(payload=b"x")
    broker = number(1, 1_700_000_000_000) + number(2, 5)
    assert as_sent(struct.pack(">HI", 0x0E02, len(broker)) + broker + sent) == sent


def delivered_of(name: str, *ledgers: int) -> set[tuple[int, int]]:
    """What a checkpoint consumer of a real 5.0.0-M1 was given of some ledgers."""
    lines = (DATA / "pulsar5" / "expected" / f"acme__shop__{name}.v5-checkpoint.jsonl").read_text().splitlines()
    ids = [json.loads(line)["id"] for line in lines]
    return {(one["ledger"], one["entry"]) for one in ids if one["ledger"] in ledgers}


def test_the_metadata_store_decides_transactions_of_a_segment() -> None:
    topic = "segment://acme/shop/transfers/0000-7fff-1"
    content = content_of(DATA / "pulsar5" / "objects", DATA / "pulsar5" / "admin", topics=(topic,), ledgers=((40, 40),))
    published = {one.position for one in content.sendables()}
    # What consumers got, and what stands committed behind the open transaction 7_0, which holds it back.
    assert published >= delivered_of("transfers", 40) | {(40, 8), (40, 9), (40, 10), (40, 14)}
    tally = content.tally
    assert (tally.entries, tally.undecided, tally.damaged) == (len(published), len(tally.places), len(tally.places))
    assert all("of a transaction that was still open" in place for place in tally.places)
    assert tally.places[0].startswith("40:3 ")
    assert tally.uncommitted  # 6_0 and 1_1 were aborted


def test_without_the_metadata_store_no_transaction_of_a_segment_is_decided() -> None:
    tally = content_of(DATA / "pulsar5" / "objects", topics=("segment://acme/shop/transfers/0000-ffff-0",)).tally
    assert tally.undecided > 0
    assert tally.uncommitted == 0
    assert "nothing here tells" in tally.places[0]
