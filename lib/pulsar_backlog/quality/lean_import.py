"""Great Expectations imported without what this program does not ask of it.

Its import takes three core seconds, more than a third of them for packages that only happen to be installed beside it:

- `EXTRAS` it does without where they are not installed (modules of `great_expectations/compatibility/`, release 1.24):
  it is told that they are not. Parts of Spark are named for processes that have the rest: Spark ML brings SciPy's
  sparse matrices.
- `HARDLY_USED` it imports in any case, for distributions and charts of a few expectations: these are loaded when
  something asks of them.

Both hold while it is imported, for all threads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

from pulsar_backlog.forgone_modules import forgoing

EXTRAS = frozenset({"pyspark", "pyspark.ml", "pyspark.sql.connect", "boto3", "botocore", "azure", "google.oauth2"})
HARDLY_USED = frozenset({"scipy.stats", "altair"})


@contextmanager
def lean_imports() -> Iterator[None]:
    """While the block runs, let imports do without `EXTRAS`, and put off those of `HARDLY_USED`."""
    finder = _PutOff()
    sys.meta_path.insert(0, finder)
    try:
        with forgoing(*EXTRAS):
            yield
    finally:
        sys.meta_path.remove(finder)


class _PutOff(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in HARDLY_USED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec
