"""Loops written for numba, which is loaded when the first of them runs: to load it takes longer than a small loop.

A loop may call others that are marked in the same way, and nothing else but what numba knows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any


class Loop:
    """A function that runs compiled, or interpreted where that is asked for; both do the same."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function: Any = function
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    def __call__(self, *values: Any) -> Any:
        """Run compiled."""
        return self.compiled(*values)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The function, and all loops that it calls, compiled."""
        from pulsar_backlog.wire.jit import compiled  # noqa: PLC0415 - loads numba

        function: Callable[..., Any] = compiled(self._with(lambda loop: loop.compiled))
        return function

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The function, and all loops that it calls, as Python."""
        return self._with(lambda loop: loop.interpreted)

    def _with(self, form: Callable[[Loop], Callable[..., Any]]) -> Callable[..., Any]:
        """The function with another form of the loops that it calls."""
        function, used = self._function, self._function.__globals__
        loops = {name: form(used[name]) for name in function.__code__.co_names if isinstance(used.get(name), Loop)}
        copy = FunctionType(function.__code__, {**used, **loops}, function.__name__)
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        return copy
