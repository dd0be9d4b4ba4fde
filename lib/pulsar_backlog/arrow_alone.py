"""pyarrow as it is where there is no pandas, for processes that are the program's own.

Its first array imports pandas, to know pandas' types should it meet them: a quarter of a second, in each process. Where
that import fails once, pyarrow does without, until `to_pandas` is called, which imports it then.
Source: `_PandasAPIShim` of pyarrow's pandas-shim.pxi, release 26.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


def forgo_pandas() -> None:
    """Let pyarrow look for pandas in vain, unless it is there already.

    Not for a process that runs others' code: pyarrow would take their Series for any sequence.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa  # noqa: PLC0415 - what this is about

    refusal = _NoPandas()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(refusal)


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not looked for", name=fullname)
