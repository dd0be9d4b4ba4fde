"""What an inventory need not find out again: examined copies and parsed files of the audits before, by their tables.

Neither table is an answer: whatever is not in them, or not believed, is looked at again. Where only Spark reads and
writes tables they are left alone, since asking it takes longer than looking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.cluster.known_documents import READER, KnownDocuments, KnownFile
from pulsar_backlog.ledgers.known_copies import EXAMINER, KnownCopies
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

COPIES, DOCUMENTS = "examined_copies", "saved_documents"


@dataclass
class KnownResults:
    """Both, of a job's cluster.

    Attributes:
        context: of the job.
        source: where copies lie.
    """

    context: JobContext
    source: Source

    @cached_property
    def copies(self) -> KnownCopies | None:
        """What is known of copies in the source; None where only Spark could tell."""
        rows = self._rows(COPIES)
        if rows is None:
            return None
        mine = rows.filter(pc.and_(pc.equal(rows["address"], self._address), pc.equal(rows["examiner"], EXAMINER)))
        keys = zip(mine["ledger_id"].to_pylist(), mine["copy"].to_pylist(), strict=True)
        begun_ms = round(self.context.started.timestamp() * 1000)
        return KnownCopies(begun_ms, dict(zip(keys, mine["examined"].to_pylist(), strict=True)))

    @cached_property
    def _documents(self) -> KnownDocuments | None:
        rows = self._rows(DOCUMENTS)
        if rows is None:
            return None
        mine = rows.filter(pc.equal(rows["reader"], READER))
        columns = (mine[name].to_pylist() for name in ("path", "digest", "documents"))
        return KnownDocuments({path: KnownFile(digest, text) for path, digest, text in zip(*columns, strict=True)})

    def documents(self) -> KnownDocuments | None:
        """What is known of files of saved state; None where only Spark could tell."""
        return self._documents

    def store(self) -> None:
        """Leave what was found to the next audit; where nothing is new, nothing is written."""
        earlier = self.__dict__.get("copies")
        if earlier is not None:
            self._store(COPIES, earlier.before == earlier.after, self._copies(earlier))
        files = self.__dict__.get("_documents")
        if files is not None:
            self._store(DOCUMENTS, files.before == files.after, self._files(files))

    def _copies(self, earlier: KnownCopies) -> Iterator[dict[str, object]]:
        for (ledger_id, copy), text in earlier.after.items():
            yield {
                "ledger_id": ledger_id, "copy": copy, "address": self._address, "examiner": EXAMINER, "examined": text,
            }  # fmt: skip

    def _files(self, files: KnownDocuments) -> Iterator[dict[str, object]]:
        for path, one in files.after.items():
            yield {"path": path, "digest": one.digest, "reader": READER, "documents": one.documents}

    def _store(self, name: str, is_same: bool, rows: Iterator[dict[str, object]]) -> None:
        if is_same:
            return
        cluster = self.context.cluster
        table = pa.Table.from_pylist([{"cluster": cluster, **row} for row in rows], schema=arrow_schema(TABLES[name]))
        self.context.replace(name, table)

    def _rows(self, name: str) -> pa.Table | None:
        rows = self.context.store.rows_here(TABLES[name])
        return None if rows is None else rows.filter(pc.equal(rows["cluster"], self.context.cluster))

    @property
    def _address(self) -> str:
        return " ".join(part for part in (self.source.source, self.source.endpoint) if part)
