"""The loop over entries is the same, interpreted and compiled, and padding is compared byte by byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.ledgers import block_entries
from tests.ledgers.encoding import offload
from tests.processes import fresh_python

BODIES = tuple(bytes([65 + n]) * size for n, size in enumerate((40, 0, 300, 7, 111, 260, 1, 90, 200, 33)))
DATA = np.frombuffer(offload(BODIES).data, dtype=np.uint8)
PADDING = np.frombuffer(b"\xfe\xdc\xde\xad" * 40_000, dtype=np.uint8)

Walked = tuple[list[int], list[list[int]], list[list[int]]]


def walked(walk_entries: object, window: np.ndarray, end: int, limit: int, is_last: bool) -> Walked:
    state = np.zeros(block_entries.STATE_SIZE, dtype=np.int64)
    state[block_entries.POSITION] = 128
    columns = [np.zeros(len(DATA) // 12 + 2, dtype=np.int64) for _ in range(3)]
    strays = np.zeros((4, 3), dtype=np.int64)
    walk_entries(window, end, limit, is_last, state, *columns, strays)  # type: ignore[operator]
    return state.tolist(), [column.tolist() for column in columns], strays.tolist()


@given(
    changes=st.lists(st.tuples(st.integers(128, len(DATA) - 1), st.integers(0, 255)), max_size=6),
    cut=st.integers(128, len(DATA)),
    beyond=st.integers(-20, 20),
    limit=st.sampled_from((-1, 3, len(BODIES))),
    is_last=st.booleans(),
)
def test_interpreted_and_compiled_do_the_same_on_any_bytes(
    changes: list[tuple[int, int]], cut: int, beyond: int, limit: int, is_last: bool
) -> None:
    data = DATA.copy()
    for at, byte in changes:
        data[at] = byte
    asked = (data[:cut], max(128, len(DATA) + beyond), limit, is_last)
    assert walked(block_entries.walk_entries.interpreted, *asked) == walked(block_entries.walk_entries.compiled, *asked)


def test_a_whole_block_is_walked() -> None:
    state, (ids, offsets, lengths), _ = walked(block_entries.walk_entries, DATA, len(DATA), len(BODIES), True)
    assert state[block_entries.REASON] == block_entries.END
    assert ids[: len(BODIES)] == list(range(len(BODIES)))
    assert lengths[: len(BODIES)] == [len(body) for body in BODIES]
    assert DATA[offsets[4] : offsets[4] + lengths[4]].tobytes() == BODIES[4]


@given(start=st.integers(0, 9), size=st.integers(0, 150_000), bad=st.sets(st.integers(0, 150_008), max_size=3))
def test_the_first_byte_that_is_not_padding(start: int, size: int, bad: set[int]) -> None:
    buffer, end = PADDING[: start + size].copy(), start + size
    spoilt = sorted(at for at in bad if start <= at < end)
    for at in spoilt:
        buffer[at] ^= 0xFF
    assert block_entries.first_bad_padding(buffer, start, end, start % 4) == (spoilt[0] if spoilt else -1)


@pytest.mark.parametrize("phase", [1, 2, 3])
def test_padding_in_another_phase_is_not_padding(phase: int) -> None:
    assert block_entries.first_bad_padding(PADDING, 0, 8, phase) == 0


def test_a_small_window_does_not_load_numba() -> None:
    said = (
        "import sys; from pulsar_backlog.ledgers import block_entries;"
        "walk = block_entries.walker_of(block_entries.SMALL_BYTES);"
        "assert walk is block_entries.walk_entries.interpreted and 'numba' not in sys.modules;"
        "assert block_entries.walker_of(block_entries.SMALL_BYTES + 1) is not walk and 'numba' in sys.modules;"
        "assert block_entries.walker_of(1) is not walk"  # it is loaded now
    )
    done = fresh_python("-c", said)
    assert done.returncode == 0, done.stderr
