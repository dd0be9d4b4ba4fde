"""The compiled loops over views: see `wire/byte_views.py` for what a view is, and for who checks it."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.wire.byte_views import VIEW_BYTES, WITHIN
from pulsar_backlog.wire.jit import compiled, copy_bytes


@compiled
def write_views(arena: Any, starts: Any, lengths: Any, views: Any, words: Any) -> None:
    """Views of runs of `arena`; `views`, all zero before, is uint8 and `words` the same memory as int32."""
    for i in range(starts.shape[0]):
        words[4 * i] = lengths[i]
        if lengths[i] <= WITHIN:
            copy_bytes(arena, starts[i], views, VIEW_BYTES * i + 4, lengths[i])
        else:
            copy_bytes(arena, starts[i], views, VIEW_BYTES * i + 4, 4)
            words[4 * i + 3] = starts[i]


@compiled
def join_views(views: Any, words: Any, arena: Any, target: Any, at: int) -> None:
    """Copy the runs of views one after the other into `target`, from `at` on."""
    for i in range(words.shape[0] // 4):
        length = words[4 * i]
        if length <= WITHIN:
            copy_bytes(views, VIEW_BYTES * i + 4, target, at, length)
        else:
            copy_bytes(arena, words[4 * i + 3], target, at, length)
        at += length
