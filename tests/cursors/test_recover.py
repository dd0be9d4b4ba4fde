"""Cursor ledgers: one entry per state, or parts with a footer, whole, torn and mixed."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.cursors.recover import UNKNOWN_CODEC, Recovered, recover
from pulsar_backlog.cursors.sizes import Splitting
from pulsar_backlog.cursors.values import AckState
from tests.cursors.encode import encode_entries, encode_position_info
from tests.cursors.real_ledgers import CURSOR_LEDGERS, entries_of
from tests.memory import with_peak_bytes


def holes(count: int, mark: tuple[int, int] = (7, -1)) -> AckState:
    """A state with `count` ranges in ledger 7."""
    at = np.arange(count) * 3
    return AckState(mark, np.column_stack((np.full(count, 7), at, np.full(count, 7), at + 1)).astype(np.int64))


def marks(found: Recovered) -> tuple[object, ...]:
    return (found.state.mark_delete if found.state else None, len(found.state.ranges) if found.state else None)


def ledger(*groups: list[bytes]) -> dict[int, bytes]:
    """Entries one after another."""
    return dict(enumerate(entry for group in groups for entry in group))


@pytest.mark.parametrize("path", CURSOR_LEDGERS, ids=lambda path: f"{path.parent.name}-{path.stem[-3:]}")
def test_the_newest_entry_of_a_real_ledger_counts(path: object) -> None:
    entries = entries_of(path)  # type: ignore[arg-type]
    found = recover(entries)
    assert found.entry_id == max(entries) == 1
    assert found.stock_broker_reads
    assert encode_position_info(found.state) == entries[1]  # type: ignore[arg-type]


@given(
    st.integers(0, 40),
    st.integers(8, 200),
    st.sampled_from([None, "NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"]),
    st.booleans(),
)
def test_split_states_come_back_whether_or_not_the_codec_is_known(
    count: int, size: int, codec: str | None, known: bool
) -> None:
    before, state = encode_entries(holes(1, (3, 3)), Splitting(False, compression=codec)), holes(count)
    written = encode_entries(state, Splitting(True, size, codec))
    found = recover(ledger(before, written), codec if known else UNKNOWN_CODEC)
    assert marks(found) == ((7, -1), count)
    assert found.parts == max(len(written) - 1, 1)
    assert found.entry_id == len(written)
    assert found.stored_bytes == sum(map(len, written[:-1] if len(written) > 1 else written))
    assert found.faults == ()


def test_an_exact_multiple_ends_with_an_empty_part() -> None:
    data = encode_position_info(holes(3))
    size = len(data) // 2 if len(data) % 2 == 0 else len(data)
    *parts, footer = encode_entries(holes(3), Splitting(True, size, None))
    assert parts[-1] == b""
    assert json.loads(footer) == {"numParts": len(parts), "length": len(data)}
    assert marks(recover(ledger([*parts, footer]), None)) == ((7, -1), 3)


def test_compression_none_has_its_size_before_it() -> None:
    (entry,) = encode_entries(holes(2), Splitting(True, 10_000, "NONE"))
    assert entry == struct.pack(">i", len(entry) - 4) + encode_position_info(holes(2))
    assert not recover({0: entry}, "NONE").stock_broker_reads


GOOD = encode_entries(holes(2, (7, 1)), Splitting(True, 10_000, "NONE"))
NEW = encode_entries(holes(9, (7, 2)), Splitting(True, 40, "NONE"))


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        pytest.param(ledger(GOOD, NEW[:-1]), "undecodable", id="the footer is missing"),
        pytest.param(ledger(GOOD, NEW[:1], NEW[2:]), "torn", id="a part is missing, the rest moved up"),
        pytest.param(
            {0: GOOD[0], **{k + 1: v for k, v in enumerate(NEW) if k != 1}}, "torn", id="a part cannot be read"
        ),
        pytest.param(ledger(GOOD, [*NEW[:-2], NEW[-2][:-1], NEW[-1]]), "torn", id="a part is short"),
        pytest.param(ledger(GOOD, [*NEW[:-1], b'{"numParts":99,"length":9}']), "torn", id="more parts than entries"),
        pytest.param(ledger(GOOD, [*NEW[:-1], b'{"numParts":']), "undecodable", id="the footer is cut"),
        pytest.param(ledger(GOOD, [*NEW[:-1], b'{"numParts":true,"length":1}']), "undecodable", id="not a footer"),
    ],
)
def test_a_torn_state_falls_back_to_the_last_whole_one(entries: dict[int, bytes], what: str) -> None:
    found = recover(entries, "NONE", {7})
    assert marks(found) == ((7, 1), 2)
    assert found.entry_id == 0
    assert found.faults[0].what == what
    assert found.faults[0].entry_id == max(entries)


def test_the_parts_that_a_footer_claims_cost_no_memory() -> None:
    far = 5_000_000
    entries = {0: GOOD[0], far: b'{"numParts":4999999,"length":9}'}
    found, peak = with_peak_bytes(lambda: recover(entries, "NONE", {7}))
    assert (found.entry_id, found.faults[0].what) == (0, "torn")
    assert peak < 1_000_000


def test_parts_that_lack_whole_ranges_are_noticed_by_their_length() -> None:
    # Bare parts cut between two ranges are a valid message: only the footer's length tells.
    whole = encode_position_info(holes(4))
    cut = encode_position_info(holes(3))
    footer = json.dumps({"numParts": 1, "length": len(whole)}).encode()
    found = recover(ledger([encode_position_info(holes(2, (7, 1)))], [cut, footer]), None)
    assert found.faults[0].what == "torn"


def test_a_fragment_that_parses_by_chance_must_name_a_ledger_of_the_topic() -> None:
    # A bare state cut after its position and some ranges is a valid message: here the position is another topic's.
    fragment = encode_position_info(holes(1, (99, 5)))
    entries = ledger([encode_position_info(holes(2, (7, 1)))], [fragment, b"\x1a\x0e\x0a"])
    assert marks(recover(entries, None, {7})) == ((7, 1), 2)
    assert [fault.what for fault in recover(entries, None, {7}).faults] == ["undecodable", "implausible"]
    # Where nothing newer is broken, the newest entry is the state, whatever ledger it names.
    assert marks(recover({0: fragment}, None, {7})) == ((99, 5), 1)


def test_nothing_whole_is_no_state() -> None:
    found = recover({0: b"", 1: b"\xff\xff"}, None)
    assert found.state is None
    assert [fault.entry_id for fault in found.faults] == [1, 0]
    assert recover({}).state is None


@given(st.dictionaries(st.integers(0, 6), st.binary(max_size=40), max_size=5))
def test_any_entries_give_a_state_or_faults(entries: dict[int, bytes]) -> None:
    found = recover(entries)
    assert (found.state is not None) + len(found.faults) >= min(len(entries), 1)
