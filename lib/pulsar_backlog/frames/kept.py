"""Frames that a job asks more than once: computed once, and forgotten when the job is done with them, however it ends.

A frame that stays cached answers for a later job in the same session too, from tables as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

from pyspark import StorageLevel
from pyspark.sql import DataFrame

Keep: TypeAlias = Callable[[DataFrame], DataFrame]


@contextmanager
def keeping() -> Iterator[Keep]:
    """A function that caches a frame until the block ends."""
    with ExitStack() as kept:

        def keep(frame: DataFrame) -> DataFrame:
            kept.callback(frame.unpersist)
            return frame.persist(StorageLevel.MEMORY_AND_DISK)

        yield keep
