"""What only reads answers at once: no JVM, and nothing is loaded that another command needs. Each in a fresh process.

How long it takes is measured in bench/.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pulsar_backlog.commands.audit import _begin_first_scan
from pulsar_backlog.options import Options
from pulsar_backlog.repair.values import write_plan
from pulsar_backlog.spark import choice
from pulsar_backlog.tasks.pool import TaskPool
from tests.auditing import ADMIN, OBJECTS, Audited, copy_ledgers, data_object, index_object, rows_of
from tests.blank_rows import NOON
from tests.processes import fresh_python
from tests.repair.applying.test_trail import PLAN
from tests.small_tables import write_tables

NEEDS_SPARK = True

SLOW = ("pyspark", "delta", "great_expectations", "pandas", "scipy", "numba", "pulsar", "boto3", "matplotlib")
"""Packages that take longer to load than an answer may take."""
FOR_ANSWERS = ("numpy", "pyarrow", "duckdb", "deltalake", "rich", "cryptography")
"""Besides those, what help and a mistake do not wait for."""
FOR_NEWS = ("duckdb", "sqlglot", "jinja2", "rich", "fastavro", "urllib3", "py4j", "cryptography")
"""What an audit loads for what is new: one without news is over before they would be loaded."""

REPORTING = """
import json, os, runpy, sys
os.environ["PATH"] = sys.argv.pop(1)
sys.argv = ["pulsar-backlog", *sys.argv[1:]]
try:
    runpy.run_module("pulsar_backlog.cli", run_name="__main__")
finally:
    sys.stderr.write("\\n" + json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def run(folder: Path, *argv: str | Path) -> tuple[int, str, set[str]]:
    """Exit code, what is said, and the packages that were loaded, where Java would leave a trace if it were started."""
    traps = folder / "traps"
    traps.mkdir(exist_ok=True)
    (traps / "java").write_text(f"#!/bin/sh\ntouch {folder}/java-was-started\n")
    (traps / "java").chmod(0o755)
    done = fresh_python("-c", REPORTING, str(traps), *map(str, argv), JAVA_HOME=str(folder / "none"))
    said, _, loaded = done.stderr.rpartition("\n")
    assert not (folder / "java-was-started").exists()
    assert "Traceback" not in said
    return done.returncode, done.stdout + said, set(json.loads(loaded))


@pytest.mark.parametrize(
    "argv",
    [("--help",), ("--version",)]
    + [
        (name, "--help")
        for name in ("audit", "run", "export", "explain", "sql", "locate", "snapshot", "doctor", "completion")
    ]
    + [("repair", name, "--help") for name in ("plan", "show", "apply", "verify")],
)
def test_help_waits_for_nothing(tmp_path: Path, argv: tuple[str, ...]) -> None:
    code, said, loaded = run(tmp_path, *argv)
    assert code == 0
    assert "pulsar-backlog" in said
    assert not loaded & {*SLOW, *FOR_ANSWERS}


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("frob",), "frob"),
        (("audit", "SOURCE"), "--out"),
        (("sql", "OUT"), "SQL"),
        (("repair", "apply", "PLAN", "--frob"), "--frob"),
        (("locate", "OUT", "--index", "-1"), "--index"),
        (("locate", "OUT"), "give one of"),
        (("export", "SOURCE"), "--out"),
        (("audit", "SOURCE", "--out", "OUT", "--fail-on", "maybe"), "--fail-on"),
        (("audit", "SOURCE", "--out", "OUT", "--since", "yesterday"), "--since"),
        (("run", "no-such-pipeline"), "no-such-pipeline"),
    ],
)
def test_a_mistake_waits_for_nothing(tmp_path: Path, argv: tuple[str, ...], named: str) -> None:
    places = {"SOURCE": str(OBJECTS), "OUT": str(tmp_path / "out")}
    code, said, loaded = run(tmp_path, *(places.get(word, word) for word in argv))
    assert code == 2
    assert named in said
    assert not loaded & {*SLOW, *FOR_ANSWERS} - {"rich"}


def test_what_is_no_query_is_one_sentence(out: Path, tmp_path: Path) -> None:
    """Without the warning of the library that reads SQL."""
    code, said, _ = run(tmp_path, "sql", out, "--dialect", "spark", "SET -v")
    assert (code, len(said.strip().splitlines())) == (2, 1)
    assert said.startswith("pulsar-backlog: DuckDB cannot be asked this in Spark's SQL: it is not one query")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shared = {"cluster": "c", "topic": "t", "ledger_id": 24, "publish_time": NOON}
    entries = [{**shared, "entry_id": n, "index": n, "uuid": f"u{n}"} for n in range(3)]
    return write_tables(tmp_path_factory.mktemp("out"), entries=entries, runs=[{"cluster": "c"}])


@pytest.mark.parametrize(
    "argv",
    [
        ("locate", "--id", "24:2"),
        ("locate", "--index", "2"),
        ("locate", "--uuid", "u2", "--cluster", "c"),
        ("locate", "--time", "2026-11-21T11:00:00Z", "--topic", "t"),
        ("sql", "SELECT entry_id FROM seek_positions WHERE entry_id = 2"),
    ],
)
def test_locate_and_sql_start_no_jvm(tmp_path: Path, out: Path, argv: tuple[str, ...]) -> None:
    command, *rest = argv
    code, said, loaded = run(tmp_path, command, out, *rest)
    assert code == 0
    assert "2" in said
    assert not loaded & set(SLOW)
    assert "pyarrow" not in loaded  # the slowest of what is left


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_file_of_rows_starts_no_jvm(tmp_path: Path, out: Path, kind: str) -> None:
    code, said, loaded = run(tmp_path, "sql", out, "SELECT * FROM entries", "--to", tmp_path / "file", "--format", kind)
    assert (code, said) == (0, f"3 rows written to {tmp_path / 'file'}\n")
    assert not loaded & {*SLOW, "pyarrow"}


def test_explain_starts_no_jvm(tmp_path: Path) -> None:
    code, said, loaded = run(tmp_path, "explain", OBJECTS, "24:0")
    assert code == 0
    assert "its checksum matches" in said
    assert not loaded & {*SLOW, "pyarrow"}


@pytest.mark.parametrize("options", [("--limit", "5"), ("--topic", "persistent://lab/s3/*", "--show-values")])
def test_messages_load_nothing_that_they_do_not_need(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, said, loaded = run(tmp_path, "messages", OBJECTS, *options)
    assert code == 0
    assert said.startswith('{"type": "message", ')
    compiled_loops = {"numba", "scipy"}
    assert not loaded & ({*SLOW, "duckdb", "deltalake"} - compiled_loops)


def test_pyarrow_without_pandas_finds_it_where_it_is_wanted() -> None:
    program = (
        "import sys; from pulsar_backlog.forgone_modules import forgo_pandas; forgo_pandas();"
        "import pyarrow as pa; table = pa.table({'n': [1, None]}); assert 'pandas' not in sys.modules;"
        "assert table.to_pandas().n.isna().sum() == 1; import pandas;"
        "assert pa.array(pandas.Series([1.0, float('nan')])).null_count == 1"
    )
    done = fresh_python("-c", program)
    assert done.returncode == 0, done.stderr


def test_explain_with_saved_state_starts_no_jvm(tmp_path: Path) -> None:
    code, said, loaded = run(tmp_path, "explain", OBJECTS, "24:0", "--admin", ADMIN)
    assert code == 0
    assert "Subscriptions" in said
    assert not loaded & {"pyspark", "delta", "great_expectations", "pandas"}


def test_a_plan_asks_for_its_cluster_before_it_starts_spark(tmp_path: Path) -> None:
    write_tables(tmp_path / "out", runs=[{"cluster": "a", "run_id": "1"}, {"cluster": "b", "run_id": "2"}])
    code, said, loaded = run(tmp_path, "repair", "plan", tmp_path / "out")
    assert code == 2
    assert "--cluster (a, b)" in said
    assert not loaded & set(SLOW)


def test_without_tables_there_is_no_plan(tmp_path: Path) -> None:
    code, said, _ = run(tmp_path, "repair", "plan", tmp_path)
    assert code == 2
    assert f"{tmp_path} holds no tables" in said


@pytest.mark.parametrize("options", [(), ("--json",), ("--action", "0")])
def test_a_plan_is_shown_without_a_jvm(tmp_path: Path, options: tuple[str, ...]) -> None:
    write_plan(tmp_path / "plan", PLAN, {0: b"x"})
    code, said, loaded = run(tmp_path, "repair", "show", tmp_path / "plan", *options)
    assert code == 0
    assert PLAN.actions[0].topic in said
    assert not loaded & {"pyspark", "delta", "great_expectations", "pandas", "duckdb"}


def test_an_audit_without_news_starts_no_jvm(tmp_path: Path, bundled: Audited) -> None:
    shutil.copytree(bundled.out, tmp_path / "out")
    options = ("--admin", ADMIN, "--cluster", "demo", "--exit-zero-when-unchanged", "--fail-on", "never")
    code, said, loaded = run(tmp_path, "audit", OBJECTS, "--out", tmp_path / "out", *options)
    assert (code, '"unchanged": true' in said) == (0, True)
    assert not loaded & {*SLOW, *FOR_NEWS}


def test_who_sends_a_scan_loads_no_compiler() -> None:
    done = fresh_python("-c", "import sys, pulsar_backlog.steps.scan_group; assert 'numba' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_processes_start_before_a_first_scan_only(
    tmp_path: Path, bundled: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    monkeypatch.setattr(TaskPool, "start", lambda _, tasks: started.append(tasks))
    monkeypatch.setattr(choice, "needs_session", lambda: False)
    _begin_first_scan(Options(out=str(bundled.out)))
    assert started == []
    _begin_first_scan(Options(out=str(tmp_path)))
    assert started == [1]


def test_a_night_after_a_ledger_left_starts_no_java(tmp_path: Path) -> None:
    source, out = copy_ledgers(tmp_path / "objects", [4, 5, 6]), tmp_path / "out"
    command = ("audit", source, "--out", out, "--fail-on", "never")
    code, _, loaded = run(tmp_path, *command)
    assert code == 0
    assert not loaded & {"great_expectations", "pandas", "numba", "scipy"}, "what its other processes load"
    for path in (data_object(source, 5), index_object(source, 5)):
        path.unlink()
    assert run(tmp_path, *command)[0] == 0
    (newest,) = (row for row in rows_of(out, "gone_ledgers", "ledger_id"))
    assert newest["ledger_id"] == 5


def test_a_ledger_whose_topic_nothing_names_needs_no_java(tmp_path: Path) -> None:
    source, out = copy_ledgers(tmp_path / "objects", [4, 5, 6]), tmp_path / "out"
    index_object(source, 6).unlink()
    assert run(tmp_path, "audit", source, "--out", out, "--fail-on", "never")[0] in (0, 4)
    nameless = [row["ledger_id"] for row in rows_of(out, "ledgers", "ledger_id", "topic") if row["topic"] is None]
    assert nameless == [6]
