"""Runs of bytes as an Arrow column of views: they stay in the buffer that they were read into, and are copied once.

A view has 16 bytes: `[ length i32 ][ first 4 bytes ][ number of the buffer i32 ][ offset i32 ]`, or, of a run of up to
12 bytes, `[ length i32 ][ the bytes ][ zeroes ]`; numbers are little-endian.

Format: https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa

from pulsar_backlog.wire.arrays import Bytes, Int64s

VIEW = pa.binary_view()
MAX_ARENA_BYTES = 2**31 - 1
"""What an offset reaches."""
VIEW_BYTES = 16
_BUFFERS = 3
"""Of a column: which are there, views, and one buffer of bytes."""
WITHIN = 12
"""Longest run that is in its view."""


def runs_as_views(arena: Bytes, starts: Int64s, lengths: Int64s, validity: pa.Buffer | None) -> pa.Array:
    """Runs of an arena, which nobody may write to any more; absent ones have no length."""
    from pulsar_backlog.wire.view_kernel import write_views  # noqa: PLC0415 - numba, which takes a while

    views = np.zeros(VIEW_BYTES * len(starts), dtype=np.uint8)
    write_views(arena, starts, lengths, views, views.view(np.int32))
    return pa.Array.from_buffers(VIEW, len(starts), [validity, pa.py_buffer(views), pa.py_buffer(arena)])


def as_binary(runs: pa.Array) -> pa.Array:
    """The runs as a column of binaries, which more of Arrow can do something with."""
    return runs.cast(pa.binary()) if runs.type == VIEW else runs


def run_lengths(runs: pa.Array) -> Int64s:
    """How many bytes each run of a column of binaries or views has, none of which is null."""
    if runs.type == VIEW:
        lengths: Int64s = _words(runs)[::4].astype(np.int64)
        return lengths
    return np.diff(_places(runs))


def joined_runs(runs: pa.Array, before: bytes, after: bytes) -> bytes:
    """All runs one after the other, between other bytes; copied without the interpreter lock.

    Raises:
        ValueError: a view lies outside its buffer.
    """
    if runs.type == VIEW and len(runs.buffers()) != _BUFFERS:
        runs = as_binary(runs)
    if runs.type == VIEW:
        _check(runs)
    size = len(before) + int(run_lengths(runs).sum()) + len(after)
    stream = io.BytesIO()
    stream.seek(size - 1)
    stream.write(b"\0")  # so large it becomes, once
    with stream.getbuffer() as memory:
        target: Bytes = np.frombuffer(memory, dtype=np.uint8)
        target[: len(before)] = np.frombuffer(before, dtype=np.uint8)
        target[size - len(after) :] = np.frombuffer(after, dtype=np.uint8)
        if runs.type == VIEW:
            _join(runs, target, len(before))
        else:
            places = _places(runs)
            stored = np.frombuffer(runs.buffers()[2] or b"", dtype=np.uint8)[places[0] : places[-1]]
            target[len(before) : size - len(after)] = stored
        del target
    return stream.getvalue()  # its own memory, not a copy


def _join(runs: pa.Array, target: Bytes, at: int) -> None:
    from pulsar_backlog.wire.view_kernel import join_views  # noqa: PLC0415 - as above

    words = _words(runs)
    join_views(words.view(np.uint8), words, _arena(runs), target, at)


def _arena(runs: pa.Array) -> Bytes:
    return np.frombuffer(runs.buffers()[2], dtype=np.uint8)


def _check(runs: pa.Array) -> None:
    """Raise where a view lies outside its buffer."""
    lengths, offsets = _words(runs)[::4], _words(runs)[3::4].astype(np.int64)
    beyond = (offsets < 0) | (offsets + lengths > len(_arena(runs)))
    if ((lengths < 0) | ((lengths > WITHIN) & beyond)).any():
        raise ValueError("a view lies outside its buffer")


def _words(runs: pa.Array) -> Any:
    """The views, each as four numbers."""
    return np.frombuffer(runs.buffers()[1], np.int32, 4 * len(runs), VIEW_BYTES * runs.offset)


def _places(runs: pa.Array) -> Int64s:
    """Where binaries begin in their buffer, and where the last one ends."""
    places: Int64s = np.frombuffer(runs.buffers()[1], np.int32, len(runs) + 1, 4 * runs.offset).astype(np.int64)
    return places
