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

    Spark collects garbage after every task: what was imported by now never becomes any. And see `forget_archives`.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.freeze()
        forget_archives()
        yield from function(batches)

    return run


def forget_archives() -> None:
    """Drop the importers of zip files.

    Spark invalidates all importers before every task, whereupon each folder of an archive reads the whole archive
    again: a second of a core where they are those of PySpark. Importers that are made anew read no archive twice.
    """
    for place, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[place]
