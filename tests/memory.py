"""What a call allocates: for tests of input that names large numbers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def with_peak_bytes(call: Callable[[], Result]) -> tuple[Result, int]:
    """What a call gives, and the most bytes that it had allocated at once."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
