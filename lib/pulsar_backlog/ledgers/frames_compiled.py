"""The loop of `frames.py`, compiled: for whole ledgers."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from pulsar_backlog.ledgers import frames
from pulsar_backlog.wire.jit import compiled


def _compiled(function: Any, **called: Any) -> Any:
    """A function compiled, with compiled ones in the place of those that it calls."""
    copy = FunctionType(function.__code__, {**function.__globals__, **called}, function.__name__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return compiled(copy)


_INTEGERS = {"_i32": _compiled(frames._i32), "_i64": _compiled(frames._i64)}
walk_frames = _compiled(
    frames.walk_frames,
    **_INTEGERS,
    _stop_at=_compiled(frames._stop_at, **_INTEGERS),
    _judge_stray=_compiled(frames._judge_stray, **_INTEGERS),
)
