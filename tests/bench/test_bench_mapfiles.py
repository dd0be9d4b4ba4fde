"""What the speed line about MapFiles measures is the same content, all of it."""

from __future__ import annotations

from pathlib import Path

from bench.generate import Spec, write_backlog
from bench.mapfiles import HEADER, inflate_file, scan_file, write_map_files
from bench.subjects import Backlog
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema


def test_the_files_hold_every_entry(tmp_path: Path) -> None:
    written = write_backlog(Spec(3000, entry_bytes=700, ledgers=2, block_bytes=1 << 20), tmp_path)
    files = write_map_files(Backlog(tmp_path, written.entries, written.data_bytes))
    assert len(files) == 2
    assert len(HEADER) == 138
    schema = arrow_schema(TABLES["entries"])
    assert sum(scan_file(str(path), schema) for path in files) == written.entries
    inflated = sum(inflate_file(str(path)) for path in files)
    entry_bytes = written.data_bytes - 12 * written.entries
    assert entry_bytes * 0.99 < inflated < entry_bytes * 1.1
