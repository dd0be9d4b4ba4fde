"""SQL over the tables of an output folder: DuckDB and Spark as engines, users' queries, views, queries of conf/.

The room can be called, because `pulsar_backlog.sql(out, query)` is a public name, see docs/python.md.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class _CallableRoom(ModuleType):
    """A module that asks SQL when it is called."""

    def __call__(self, out: str, query: str, *, endpoint: str | None = None) -> pa.RecordBatchReader:
        """Rows of a query over the tables and views of an audit, by DuckDB, in this process.

        Args:
            out: folder or bucket of the tables.
            query: one SELECT, as `pulsar-backlog sql` takes it.
            endpoint: of the bucket's service, if it is not the cloud's own.

        Raises:
            UsageError: no tables there, or SQL that is not accepted.
        """
        from pulsar_backlog.sql.query import query_batches  # noqa: PLC0415 - DuckDB, which few need

        return query_batches(out, query, endpoint)


sys.modules[__name__].__class__ = _CallableRoom
