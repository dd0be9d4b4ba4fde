"""Modules that libraries look for when they are loaded and do without, for processes that are the program's own.

- pyarrow's first array imports pandas, to know pandas' types should it meet them: a quarter of a second in each
  process. Where that import fails once, pyarrow does without, until `to_pandas` is called, which imports it then.
  Source: `_PandasAPIShim` of pyarrow's pandas-shim.pxi, release 26.
- numba imports SciPy's linear algebra when it loads its first loop, a sixth of a second, and where that fails it
  multiplies no matrices. Source: `_check_blas` of numba/np/arraymath.py, release 0.68.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from types import ModuleType

LINEAR_ALGEBRA = "scipy.linalg"


@contextmanager
def forgoing(*names: str) -> Iterator[None]:
    """While the block runs, let modules be looked for in vain, by any thread, unless they are there already."""
    refusal = _Refusal(names)
    sys.meta_path.insert(0, refusal)
    try:
        yield
    finally:
        sys.meta_path.remove(refusal)


def forgo_pandas() -> None:
    """Let pyarrow do without pandas, unless it is there already.

    Not for a process that runs others' code: pyarrow would take their Series for any sequence.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa  # noqa: PLC0415 - what this is about

    with forgoing("pandas"):
        pa.array([0])


class _Refusal(MetaPathFinder):
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /) -> None:
        if fullname in self._names:
            raise ModuleNotFoundError(f"{fullname} is not looked for", name=fullname)
