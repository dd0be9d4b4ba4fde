"""Cursor state both ways: real brokers' bytes, and any state against the generated protobuf classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.cursors.decode import decode_cursor_info, decode_position_info
from pulsar_backlog.cursors.sizes import position_info_bytes
from pulsar_backlog.cursors.values import AckState, BatchState, CursorInfo, LongList
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.ledger_list import decode_ledger_list
from pulsar_backlog.wire.proto import managed_ledger_pb2 as pb
from tests.cursors.encode import encode_cursor_info, encode_position_info
from tests.cursors.real_ledgers import CURSOR_LEDGERS, entries_of
from tests.examples import examples

REAL = [pytest.param(data, id=f"{path.parent.name}-{path.stem[-3:]}-{id_}")
        for path in CURSOR_LEDGERS for id_, data in entries_of(path).items()]  # fmt: skip

ids = st.integers(-1, 2**63 - 1)
words = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6)
ranges = st.lists(st.tuples(ids, ids, ids, ids), max_size=8)
lists = st.lists(st.tuples(ids, words), max_size=4)
batches = st.lists(st.tuples(ids, ids, words), max_size=4)
properties = st.dictionaries(st.text(max_size=5), st.integers(-(2**63), 2**63 - 1), max_size=3)


@st.composite
def states(draw: st.DrawFn) -> AckState:
    return AckState(
        mark_delete=(draw(ids), draw(ids)),
        ranges=np.array(draw(ranges), dtype=np.int64).reshape(-1, 4),
        long_lists=tuple(LongList(key, np.array(held, dtype=np.int64)) for key, held in draw(lists)),
        batches=tuple(BatchState(ledger, entry, tuple(held)) for ledger, entry, held in draw(batches)),
        properties=draw(properties),
    )


def plain(state: AckState) -> tuple[object, ...]:
    """A state in values that compare."""
    return (
        state.mark_delete, state.ranges.tolist(), [(one.ledger_id, one.words.tolist()) for one in state.long_lists],
        state.batches, dict(state.properties),
    )  # fmt: skip


def by_protobuf(data: bytes) -> tuple[object, ...]:
    """What the generated classes read."""
    m = pb.PositionInfo.FromString(data)
    return (
        (m.ledger_id, m.entry_id),
        [[r.lower.ledger_id, r.lower.entry_id, r.upper.ledger_id, r.upper.entry_id] for r in m.ranges],
        [(one.key, list(one.values)) for one in m.long_lists],
        tuple(BatchState(b.position.ledger_id, b.position.entry_id, tuple(b.delete_set)) for b in m.batches),
        {p.name.decode(): p.value for p in m.properties},
    )


@pytest.mark.parametrize("data", REAL)
def test_real_states_read_as_protobuf_reads_them_and_write_back_to_the_same_bytes(data: bytes) -> None:
    state = decode_position_info(data)
    assert plain(state) == by_protobuf(data)
    assert encode_position_info(state) == data
    assert position_info_bytes(state) == len(data)


def test_there_are_real_states_of_every_form() -> None:
    forms = {decode_position_info(param.values[0]).encoding for param in REAL}  # type: ignore[arg-type]
    assert forms == {"none", "ranges", "long_array"}
    assert any(decode_position_info(param.values[0]).batches for param in REAL)  # type: ignore[arg-type]


@given(states())
def test_what_is_written_reads_the_same_here_and_with_protobuf(state: AckState) -> None:
    data = encode_position_info(state)
    assert plain(decode_position_info(data)) == plain(state) == by_protobuf(data)
    assert position_info_bytes(state) == len(data)


@given(states(), st.randoms())
def test_fields_in_any_order_read_the_same(state: AckState, random: object) -> None:
    whole = pb.PositionInfo.FromString(encode_position_info(state))
    parts = []
    for field, value in whole.ListFields():
        for one in value if field.is_repeated else [value]:
            part = pb.PositionInfo()
            getattr(part, field.name).append(one) if field.is_repeated else setattr(part, field.name, value)
            parts.append(part.SerializeToString())
    random.shuffle(parts)  # type: ignore[attr-defined]
    data = b"".join(parts)
    assert plain(decode_position_info(data)) == by_protobuf(data)


@given(
    st.binary(max_size=60) | states().flatmap(lambda s: st.integers(0, 200).map(lambda n: encode_position_info(s)[:n]))
)
@examples(300)
def test_any_bytes_are_read_as_protobuf_reads_them_or_refused(data: bytes) -> None:
    try:
        state = decode_position_info(data)
    except DecodeError:
        return
    assert pb.PositionInfo.FromString(data).HasField("entry_id")
    assert plain(state)[:2] == by_protobuf(data)[:2]


@pytest.mark.parametrize(
    "data", [b"", b"\x08\x07", b"\x10\x07", b"\x08\x07\x10"], ids=["empty", "no entry", "no ledger", "cut"]
)
def test_a_state_needs_a_whole_position(data: bytes) -> None:
    with pytest.raises(DecodeError, match="cursor_state_undecodable"):
        decode_position_info(data)


def test_packed_words_are_read() -> None:
    # Brokers write a tag per word; a packed list means the same to protobuf.
    packed = bytes.fromhex("08071029" + "3206" + "0807" + "1202" + "2002")
    assert plain(decode_position_info(packed))[2] == [(7, [0x20, 2])]


def test_the_documented_long_list() -> None:
    state = decode_position_info(bytes.fromhex("08071029320a080710808080" + "8080802c"))
    (one,) = state.long_lists
    assert (one.ledger_id, one.words.tolist()) == (7, [1 << 44 | 1 << 45 | 1 << 47])


def test_fields_of_a_newer_version_are_noticed() -> None:
    assert decode_position_info(bytes.fromhex("08071029")).unknown_fields is False
    assert decode_position_info(bytes.fromhex("08071029" + "4801")).unknown_fields is True


@given(states(), st.integers(-1, 2**62), st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
       st.sampled_from([None, "NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"]))  # fmt: skip
def test_values_of_the_metadata_store_with_and_without_envelope(
    state: AckState, ledger_id: int, texts: dict[str, str], codec: str | None
) -> None:
    info = CursorInfo(ledger_id, state, texts, 7)
    back = decode_cursor_info(encode_cursor_info(info, codec))
    assert back.compression == codec
    assert (back.cursors_ledger_id, back.cursor_properties, back.last_active_ms) == (ledger_id, texts, 7)
    assert back.state is not None
    # The node holds no long lists.
    assert plain(back.state) == plain(AckState(state.mark_delete, state.ranges, (), state.batches, state.properties))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"\x47\x78", id="ends after the magic"),
        pytest.param(b"\x47\x78\x00\x00\x00\x09\x08\x01", id="header longer than the value"),
        pytest.param(b"\x47\x78\xff\xff\xff\xff", id="negative length"),
        pytest.param(b"\x47\x78\x00\x00\x00\x04\x08\x09\x10\x05" + b"12345", id="unknown codec"),
        pytest.param(b"\x47\x78\x00\x00\x00\x04\x08\x00\x10\x05" + b"1234", id="size too large"),
        pytest.param(b"\x47\x78\x00\x00\x00\x04\x08\x02\x10\x05" + b"12345", id="not zlib"),
    ],
)
def test_a_broken_envelope_is_refused(value: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_cursor_info(value)


def test_a_new_topic_has_no_bytes_and_no_ledgers() -> None:
    assert decode_ledger_list(b"").ledgers == ()


def test_ledgers_with_and_without_offload() -> None:
    context = pb.OffloadContext(uid_msb=-1, uid_lsb=1, complete=True)
    info = pb.ManagedLedgerInfo.LedgerInfo(ledger_id=7, entries=60, size=9000, timestamp=5, offload_context=context)
    last = pb.ManagedLedgerInfo.LedgerInfo(ledger_id=9, entries=0, size=0)
    found = decode_ledger_list(pb.ManagedLedgerInfo(ledger_info=[info, last]).SerializeToString())
    first, second = found.ledgers
    assert (first.entries, first.offload_uuid, first.offload_complete) == (
        60,
        "ffffffff-ffff-ffff-0000-000000000001",
        True,
    )
    assert (second.entries, second.offload_uuid, second.offload_complete) == (None, None, None)
