"""What every function that runs in one of Spark's Python workers is wrapped in."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias
from zipimport import zipimporter

import pyarrow as pa

OverBatches: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def quiet(function: OverBatches) -> OverBatches:
    """The function for `mapInArrow`, sparing its worker what Spark does before and after every task, about 0.1 s.

    Spark collects garbage after every task: what was imported by now never becomes any. And it drops the caches of
    all importers before every task, whereupon those of zip files read their archives again; without their cache
    entries they do so only when something new is imported.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.freeze()
        for place, finder in list(sys.path_importer_cache.items()):
            if isinstance(finder, zipimporter):
                del sys.path_importer_cache[place]
        yield from function(batches)

    return run
