"""What the speed line about entry logs measures is the same content, all of it, in logs as bookies write them."""

from __future__ import annotations

from pathlib import Path

from bench.entry_logs import planned, scan, write_entry_log
from bench.generate import Spec, write_backlog
from bench.subjects import Backlog
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.ledgers.sources import see


def test_the_log_holds_every_entry_of_the_objects(tmp_path: Path) -> None:
    written = write_backlog(Spec(3000, entry_bytes=700, ledgers=2, block_bytes=1 << 20), tmp_path / "objects")
    objects = see(tmp_path / "objects").entries
    bookie = write_entry_log(Backlog(tmp_path / "objects", written.entries, written.data_bytes))
    logs = see(bookie)
    assert logs.entries == objects
    assert [faults for faults in logs.faults.values() if faults] == []
    schema = arrow_schema(TABLES["entries"])
    assert sum(scan(unit, schema) for unit in planned(str(bookie))) == written.entries
