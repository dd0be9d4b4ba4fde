"""SQL over the tables and views of the bundled audit, answered by both engines."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
from pyarrow import parquet

from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.report.samples import SAMPLES
from pulsar_backlog.sql import duck
from pulsar_backlog.sql.query import MAX_ROWS, Engine, write_query
from pulsar_backlog.sql.views import views
from pulsar_backlog.tables import TABLES
from tests.auditing import Audited, version_of
from tests.blank_rows import NOON
from tests.small_tables import write_tables
from tests.sql.printed import both, printed

NEEDS_SPARK = True

ROOT = Path(__file__).parents[2]
ENGINES: tuple[Engine, ...] = get_args(Engine)


def mistake(out: Path, query: str, engine: Engine) -> str:
    """What is said of a query: one sentence, and none that names the inside of an engine."""
    with pytest.raises(UsageError) as caught:
        printed(out, query, engine)
    (said,) = str(caught.value).splitlines()
    assert "JVM" not in said
    assert "exception" not in said
    return said


@both
def test_tables_by_name(bundled: Audited, engine: Engine) -> None:
    answer = printed(
        bundled.out, "SELECT state, count(*) AS n FROM chunked_messages GROUP BY state ORDER BY state", engine
    )
    counted = bundled.result["counts"]["by_state"]
    assert answer == "state\tn\n" + "".join(f"{state}\t{counted[state]}\n" for state in sorted(counted))


WITHOUT_ROWS = {
    "rejected_entries", "stored_without_need", "scalable_messages", "scalable_subscriptions", "scalable_topics",
    "schema_use", "delayed_messages", "pending_acknowledgements", "transaction_contradictions", "confirmed_cut_off",
    "replication", "replicated_subscriptions", "delayed_backlogs",
}  # fmt: skip
"""Views that have none of this backlog."""


@pytest.mark.parametrize("view", sorted(views()))
def test_every_view_gives_the_same_rows_in_the_same_order_in_both_engines(
    bundled: Audited, view: str, tmp_path: Path
) -> None:
    query = f"SELECT * FROM {view}"
    texts = {engine: printed(bundled.out, query, engine) for engine in ENGINES}
    assert texts["duckdb"] == texts["spark"]
    files = {engine: tmp_path / engine for engine in ENGINES}
    counts = {write_query(str(bundled.out), query, "jsonl", file, engine) for engine, file in files.items()}
    assert files["duckdb"].read_text() == files["spark"].read_text()
    assert len(files["spark"].read_text().splitlines()) == counts.pop()
    assert not counts
    assert texts["spark"].count("\n") > 1 or view in WITHOUT_ROWS


@pytest.mark.parametrize("view", sorted(views()))
def test_every_view_has_the_same_types_in_both_engines(bundled: Audited, view: str, tmp_path: Path) -> None:
    files = {engine: tmp_path / engine for engine in ENGINES}
    for engine, file in files.items():
        write_query(str(bundled.out), f"SELECT * FROM {view}", "parquet", file, engine)
    ours, theirs = (parquet.read_table(files[engine]) for engine in ENGINES)
    assert [(field.name, field.type) for field in ours.schema] == [(field.name, field.type) for field in theirs.schema]
    assert ours.to_pylist() == theirs.to_pylist()


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_is_the_same_in_both_engines(bundled: Audited, name: str, tmp_path: Path) -> None:
    files = {engine: tmp_path / engine for engine in ENGINES}
    for engine, file in files.items():
        write_query(str(bundled.out), f"SELECT * FROM {name}", "jsonl", file, engine)
    ours, theirs = (sorted(files[engine].read_text().splitlines()) for engine in ENGINES)
    assert ours == theirs


VALUES = """
SELECT
  CAST('NaN' AS double) AS nan, CAST('-Infinity' AS double) AS low, 0.5 AS half, sum(ledger_id) AS total,
  count(*) AS n, TRUE AS yes, NULL AS nothing, min(publish_time) AS first, 'é" ' || chr(9) AS text,
  max(encryption_param) AS bytes, max(producer_name) AS name
FROM entries
"""


def test_values_of_every_type_are_written_the_same(bundled: Audited, tmp_path: Path) -> None:
    lines = []
    for engine in ENGINES:
        assert write_query(str(bundled.out), VALUES, "jsonl", tmp_path / engine, engine) == 1
        lines.append((tmp_path / engine).read_text())
    assert lines[0] == lines[1]
    assert '"nan":"NaN","low":"-Infinity","half":0.5,' in lines[0]
    row = json.loads(lines[0])
    assert row["first"].endswith("Z")
    assert len(row["bytes"]) == 16  # twelve bytes in base64


@both
def test_values_cannot_steer_a_terminal(bundled: Audited, engine: Engine) -> None:
    hostile = "concat('a', chr(27), '[31m', chr(10), chr(9), '[bold]b') AS hostile"
    query = f"SELECT {hostile}, unhex('0E01') AS bytes, NULL AS nothing"
    assert printed(bundled.out, query, engine) == ("hostile\tbytes\tnothing\na\\x1b[31m\\x0a\\x09[bold]b\t0e01\t\n")
    assert "a\\x1b[31m\\x0a\\x09[bold]b" in printed(bundled.out, query, engine, force_terminal=True)


@pytest.mark.parametrize(("engine", "quote"), [("duckdb", '"'), ("spark", "`")])
def test_a_column_name_cannot_steer_a_terminal(bundled: Audited, engine: Engine, quote: str) -> None:
    query = f"SELECT 1 AS {quote}a\x1b[31m\tb{quote}"
    assert printed(bundled.out, query, engine) == "a\\x1b[31m\\x09b\n1\n"


def test_column_names_are_kept_whatever_is_in_them(bundled: Audited, tmp_path: Path) -> None:
    query = """SELECT 1 AS "it's ""so"" -- )", 2 AS "a b", 3 AS "a b" -- a comment"""
    assert printed(bundled.out, query) == 'it\'s "so" -- )\ta b\ta b\n1\t2\t3\n'
    write_query(str(bundled.out), query, "jsonl", tmp_path / "file")
    assert (tmp_path / "file").read_text() == '{"it\'s \\"so\\" -- )":1,"a b":2,"a b":3}\n'


@pytest.mark.parametrize(("engine", "column"), [("duckdb", "range"), ("spark", "id")])
def test_a_long_answer_is_cut_and_says_so(bundled: Audited, engine: Engine, column: str) -> None:
    lines = printed(bundled.out, f"SELECT {column} FROM range({MAX_ROWS + 1})", engine).splitlines()
    assert len(lines) == 1 + MAX_ROWS + 1
    assert lines[-1].startswith(f"... more than {MAX_ROWS} rows")
    assert len(printed(bundled.out, f"SELECT {column} FROM range({MAX_ROWS})", engine).splitlines()) == 1 + MAX_ROWS


@both
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT * FROM fndings", "there is no table or view fndings; nearest: findings"),
        ("SELECT * FROM topic_overvew", "there is no table or view topic_overvew; nearest: topic_overview"),
        ("SELECT * FROM zzzzzzzz", "there is no table or view zzzzzzzz; docs/tables.md lists them all"),
        ("SELECT publish_tme FROM entries", "there is no column publish_tme; nearest: publish_time, publish_time_ms"),
        ("SELECT e.publish_tme FROM entries AS e", "there is no column publish_tme; nearest: publish_time"),
        ("SELECT not_whol FROM topic_overview", "there is no column not_whol; nearest: not_whole"),
        (
            "SELECT message_count FROM topic_overview",
            "there is no column message_count; nearest: chunked_messages, plain",
        ),
        ("SELECT ledger FROM entries", "there is no column ledger; nearest: ledger_id"),
        ("SELECT id FROM entries", "there is no column id; nearest: chunk_id, entry_id, ledger_id"),
        ("SELECT not_there FROM entries", "there is no column not_there; docs/tables.md lists them all"),
        ("SELECT * FROM subs", "there is no table or view subs; nearest: subscriptions"),
        (
            "SELECT ledger_id FROM entries, chunks",
            "the column ledger_id is ambiguous there: write chunks.ledger_id or ent",
        ),
        (
            "SELECT e.topic FROM entries e JOIN chunks c USING (cluster) WHERE entry_id = 1",
            "the column entry_id is ambiguous there: write c.entry_id or e.entry_id",
        ),
        ("SELECT z.ledger_id FROM entries AS e", "the query reads no table by the name z there"),
        ("SELECT entries.* FROM entries AS e", "the query reads no table by the name entries there"),
        (
            "SELECT ledger_id FROM runs WHERE job IN (SELECT topic FROM entries)",
            "nothing that is read there has a column ledger_id; it is one of entries",
        ),
        ("DESCRIBE topic_overvew", "there is no table or view topic_overvew; nearest: topic_overview"),
    ],
)
def test_a_wrong_name_is_told_with_the_nearest_ones(
    bundled: Audited, engine: Engine, query: str, sentence: str
) -> None:
    assert mistake(bundled.out, query, engine).startswith(sentence)


@both
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT 1 +", "end of input"),
        ("SELEC 1", "SELEC"),
        ("SELECT CAST('x' AS INT)", "'x'"),  # found only when it runs
        ("SELECT nosuch(1)", "nosuch"),
    ],
)
def test_bad_sql_is_one_sentence(bundled: Audited, engine: Engine, query: str, named: str) -> None:
    assert named.lower() in mistake(bundled.out, query, engine).lower()


@both
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM findings",
        "INSERT INTO findings SELECT * FROM findings",
        "DROP VIEW findings",
        "DROP TABLE findings",
        "CREATE TABLE t (a int)",
        "WITH x AS (SELECT 1) INSERT INTO findings SELECT * FROM findings",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP VIEW findings",
        "",
    ],
)
def test_nothing_but_one_query_is_answered(bundled: Audited, engine: Engine, statement: str) -> None:
    before = version_of(bundled.out, "findings")
    mistake(bundled.out, statement, engine)
    assert version_of(bundled.out, "findings") == before
    assert int(printed(bundled.out, "SELECT count(*) AS n FROM findings", engine).split()[1]) > 0


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1:9/x.parquet')",
        "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
        "COPY (SELECT 1) TO '{folder}/written'",
        "COPY findings TO '{table}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/written'",
        "ATTACH '{folder}/written'",
        "INSTALL httpfs",
        "LOAD '{file}'",
        "SET enable_external_access = true",
        "PRAGMA memory_limit = '1TB'",
        "CALL pragma_version()",
        "SELECT 1) TO '{folder}/written'; SELECT (1",
        "SELECT * FROM secret",  # a variable of this test
    ],
)
def test_a_query_reaches_nothing_but_the_tables(bundled: Audited, tmp_path: Path, statement: str) -> None:
    secret = [{"word": 1}]
    assert secret
    (tmp_path / "file").write_text("word\n")
    (data_file, *_) = (bundled.out / "tables" / "findings").glob("*.parquet")
    before = data_file.read_bytes()
    query = statement.format(file=tmp_path / "file", folder=tmp_path, table=data_file) + "  -- findings"
    assert "word" not in mistake(bundled.out, query, "duckdb")
    assert not (tmp_path / "written").exists()
    assert data_file.read_bytes() == before


@pytest.mark.parametrize("name", ["a b", "a[b]*?{c}", "é'\"ß"])
def test_tables_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    shutil.copytree(write_tables(tmp_path / "plain", findings=[{"code": "C01"}]), out)
    assert printed(out, "SELECT code FROM findings") == "code\nC01\n"
    write_query(str(out), "SELECT code FROM findings", "parquet", tmp_path / f"{name}.parquet")
    assert parquet.read_table(tmp_path / f"{name}.parquet").to_pylist() == [{"code": "C01"}]


def test_a_table_that_was_never_written_is_empty(tmp_path: Path) -> None:
    write_tables(tmp_path, runs=[], findings=[])
    columns = printed(tmp_path, "SELECT * FROM messages").split()
    assert columns == TABLES["messages"].column_names()
    assert printed(tmp_path, "SELECT code FROM findings") == "code\n"


@both
def test_a_folder_without_tables_is_named(spark: object, tmp_path: Path, engine: Engine) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        assert f"{folder} holds no tables" in mistake(folder, "SELECT * FROM entries", engine)


def test_what_outgrows_memory_and_disk_is_told_to_ask_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(tmp_path, findings=[{"code": "C01"}])
    monkeypatch.setattr(duck, "_CONFIG", {**duck._CONFIG, "memory_limit": "40MiB"})
    monkeypatch.setattr(duck, "SPILL_LIMIT", "1MiB")
    query = "SELECT count(*) AS n FROM (SELECT x FROM range(6000000) AS r(x), findings ORDER BY hash(x) LIMIT 5999999)"
    assert "--engine spark" in mistake(tmp_path, query, "duckdb")


def test_what_outgrows_memory_alone_goes_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(tmp_path, findings=[{"code": "C01"}])
    monkeypatch.setattr(duck, "_CONFIG", {**duck._CONFIG, "memory_limit": "40MiB"})
    query = "SELECT count(*) AS n FROM (SELECT x FROM range(6000000) AS r(x), findings ORDER BY hash(x) LIMIT 5999999)"
    assert printed(tmp_path, query) == "n\n5999999\n"


def test_times_are_utc_wherever_this_machine_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(tmp_path, entries=[{"publish_time": NOON}])
    monkeypatch.setenv("TZ", "America/New_York")
    assert printed(tmp_path, "SELECT publish_time AS t FROM entries") == "t\n2026-11-21T12:00:00.000Z\n"


def test_a_table_with_rows_marked_as_deleted_is_left_to_spark(tmp_path: Path) -> None:
    write_tables(tmp_path, findings=[{"code": "C01"}])
    log = tmp_path / "tables" / "findings" / "_delta_log"
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                "writerFeatures": ["deletionVectors"]}  # fmt: skip
    (log / f"{1:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n")
    assert "--engine spark" in mistake(tmp_path, "SELECT * FROM findings", "duckdb")


def test_a_log_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    write_tables(tmp_path, findings=[{"code": "C01"}])
    shutil.copy(__file__, tmp_path / "tables" / "findings" / "_delta_log" / f"{1:020}.json")
    with pytest.raises(Exception, match="delta-rs cannot read this table") as caught:
        printed(tmp_path, "SELECT * FROM findings")
    assert len(str(caught.value).splitlines()) == 1


def recommended() -> list[str]:
    """Every query that findings, the report and the README tell people to ask."""
    shown = [kind.command for kind in CATALOGUE.values()] + (ROOT / "README.md").read_text().splitlines()
    found = (re.search(r'(?:backlog sql \S+ |Q=)"(.*?)"', line) for line in shown)
    queries = [match[1].replace("SUBJECT", "1") for match in found if match]
    return sorted({*queries, *(query for _, query in SAMPLES)})


@pytest.mark.parametrize("query", recommended())
def test_every_query_that_is_recommended_is_answered(bundled: Audited, query: str) -> None:
    assert "\t" in printed(bundled.out, query)
