"""Rows of the model are rows of the tables, and words for numbers are right at their edges."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import duckdb
import pytest

from pulsar_backlog.report import words
from pulsar_backlog.report.model import ByteRange, FindingRow, PublicationRow, QualityRow
from pulsar_backlog.report.samples import SAMPLES
from pulsar_backlog.report.views import missing_words, span_words
from pulsar_backlog.tables import TABLES, Column
from tests.report.sample_parts import publication

PYTHON = {
    "string": str,
    "bigint": int,
    "int": int,
    "boolean": bool,
    "array<string>": list[str],
    "array<int>": list[int],
}
DUCKDB = {"string": "VARCHAR", "timestamp": "TIMESTAMP", "binary": "BLOB", "int": "INTEGER"}


@pytest.mark.parametrize(
    ("row", "table", "whole"),
    [
        (FindingRow, "findings", True),
        (QualityRow, "quality_results", True),
        (PublicationRow, "chunked_messages", False),
    ],
)
def test_rows_are_as_the_tables_promise(row: type, table: str, whole: bool) -> None:
    columns = {c.name: c for c in TABLES[table].columns}
    hints = get_type_hints(row)
    assert set(hints) <= set(columns)
    assert not whole or set(hints) == set(columns)
    for name, hint in hints.items():
        nullable = get_origin(hint) in (types.UnionType, Union)
        assert nullable == columns[name].nullable, name
        inner = next(a for a in get_args(hint) if a is not type(None)) if nullable else hint
        assert inner == python_type(columns[name]), name


def python_type(column: Column) -> Any:
    if column.name == "missing_bytes":
        assert set(get_type_hints(ByteRange)) == {"start", "end"}
        return list[ByteRange]
    return PYTHON[column.type]


@pytest.mark.parametrize(("question", "sql"), SAMPLES)
def test_sample_sql_fits_the_tables_and_double_quotes(question: str, sql: str) -> None:
    assert question.endswith("?")
    assert not set(sql) & set('"$`\\!')
    with duckdb.connect() as connection:
        for table in TABLES.values():
            columns = ", ".join(f'"{c.name}" {DUCKDB.get(c.type, simple(c.type))}' for c in table.columns)
            connection.execute(f"CREATE TABLE {table.name} ({columns})")
        assert connection.execute(sql).fetchall() == []


def simple(spark_type: str) -> str:
    return "VARCHAR" if "<" in spark_type else spark_type


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (publication("u", "whole"), "none"),
        (publication("u", "gap", missing_chunk_ids=[2], missing_chunk_count=1,
            missing_bytes=[{"start": 4000, "end": 6000}]),
            "chunk 2 of 4; bytes 4,000-6,000 of 8,000 (2.0 KiB)"),
        (publication("u", "gap", missing_chunk_ids=[1, 2, 3, 5, 9], missing_chunk_count=5, num_chunks=12),
            "chunks 1-3, 5, 9 of 12"),
        (publication("u", "gap", missing_chunk_ids=list(range(0, 1000, 2)), missing_chunk_count=9000,
            num_chunks=20_000),
            "chunks 0, 2, 4, 6, 8, 10, and 8,994 more of 20,000"),
        (publication("u", "gap", missing_chunk_ids=[1], missing_chunk_count=1, total_bytes=90,
            missing_bytes=[{"start": n * 10, "end": n * 10 + 5} for n in range(8)]),
            "chunk 1 of 4; bytes 0-5, 10-15, 20-25, 30-35, 40-45, 50-55 and 2 more ranges of 90 (40 B)"),
    ],
)  # fmt: skip
def test_missing_words(row: PublicationRow, expected: str) -> None:
    assert missing_words(row) == expected


def test_span_words() -> None:
    assert span_words(publication("u", "gap")) == "5:0 to 5:2"
    assert span_words(publication("u", "gap", last_entry_id=0)) == "5:0"
    assert span_words(publication("u", "gap", first_entry_id=None)) == "5:2"
    assert span_words(publication("u", "gap", first_entry_id=None, last_ledger_id=None)) == "unknown"


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KiB"), (1024**2 - 1, "1.0 MiB"), (1536 * 1024, "1.5 MiB"),
        (5 * 1024**5, "5,120.0 TiB")],
)  # fmt: skip
def test_byte_size(size: int, expected: str) -> None:
    assert words.byte_size(size) == expected


@pytest.mark.parametrize(
    ("span_ms", "expected"),
    [(0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (59_900, "59.9 s"), (60_000, "1 min"), (61_000, "1 min 1 s"),
        (3_600_000, "1 h"), (90_000_000, "1 d 1 h")],
)  # fmt: skip
def test_duration(span_ms: int, expected: str) -> None:
    assert words.duration(span_ms) == expected


@pytest.mark.parametrize(
    ("time_ms", "expected"),
    [
        (None, "unknown"),
        (0, "1970-01-01 00:00:00 UTC"),
        (-1, "1969-12-31 23:59:59.999 UTC"),
        (1_795_262_400_000, "2026-11-21 12:00:00 UTC"),
        (2**63 - 1, "9223372036854775807 ms (outside the calendar)"),
        (-(2**63), "-9223372036854775808 ms (outside the calendar)"),
    ],
)
def test_utc_time(time_ms: int | None, expected: str) -> None:
    assert words.utc_time(time_ms) == expected


def test_templates_are_in_the_package() -> None:
    folder = Path(words.__file__).parent / "templates"
    assert {p.name for p in folder.iterdir()} >= {"report.html.j2", "report.css"}
