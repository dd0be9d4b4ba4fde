"""Whether two audits of one source left equal tables: row by row, all columns, whatever the order of rows.

    python scripts/compare_audits.py OUT_BEFORE OUT_AFTER

A table that only one of them has is named and not compared; `runs` and `examined_copies` differ by nature. Exit 1 when
any row differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import parquet

NOT_COMPARED = {"runs", "examined_copies"}
"""Tables that tell of the run, and of where and when objects lay there."""
OF_THE_RUN = (
    "made", "inputs", "read_time", "run_id", "compared_at", "first_seen", "last_seen", "healed_at",
)  # fmt: skip
"""Columns that say when something was made or read, and of which versions of tables: one more after a kill."""
SHOWN = 5


def rows_of(table: DeltaTable) -> Counter[str]:
    """The rows of a Delta table, see `texts_of`."""
    files = table.file_uris()
    # In a folder not by `to_pyarrow_table`, whose threads may abort a program that ends.
    in_folder = files and not any("://" in file for file in files)
    return texts_of(parquet.read_table(files) if in_folder else table.to_pyarrow_table())


def texts_of(found: pa.Table) -> Counter[str]:
    """Rows as texts, without `OF_THE_RUN`, each with how often it occurs."""
    rows = found.to_pylist(maps_as_pydicts="strict")
    for row in rows:
        for name in OF_THE_RUN:
            row.pop(name, None)
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in rows)


def differing(before: Path, after: Path) -> int:
    """Rows that only one of the tables in both folders has; says what it finds."""
    names = [{path.parent.name for path in out.glob("tables/*/_delta_log")} for out in (before, after)]
    for name in sorted(names[0] ^ names[1]):
        say(f"{name}: only {'before' if name in names[0] else 'after'}")
    total = 0
    for name in sorted((names[0] & names[1]) - NOT_COMPARED):
        one, other = (rows_of(DeltaTable(out / "tables" / name)) for out in (before, after))
        gone, new = one - other, other - one
        say(f"{name}: {one.total()} rows before, {other.total()} after, {gone.total()} gone, {new.total()} new")
        for sign, rows in (("-", gone), ("+", new)):
            for text in sorted(rows)[:SHOWN]:
                say(f"  {sign} {text}")
        total += gone.total() + new.total()
    return total


def say(line: str) -> None:
    """A line of the result."""
    sys.stdout.write(line + "\n")


def main(argv: list[str]) -> int:
    """Compare, and say so."""
    parser = argparse.ArgumentParser(prog="compare_audits", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args(argv)
    count = differing(options.before, options.after)
    say("equal" if count == 0 else f"{count} rows differ")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
