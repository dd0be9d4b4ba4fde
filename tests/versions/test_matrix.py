"""Our wheel on each Python, Spark and Java that it says it runs on: the same tables, answers, exports, plans, rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from scripts.compare_audits import differing
from tests.api.spark_sources import MODULES, PROGRAM, in_order, rows_of_api, rows_of_files
from tests.auditing import OBJECTS, Audited
from tests.versions.environments import MATRIX, Versions
from tests.versions.program import Program

BOUNDED = Path(__file__).with_name("bounded_stream.py")
QUERY = "SELECT topic, state, count(*) AS n FROM chunked_messages GROUP BY topic, state ORDER BY 1, 2"
VERSIONS = "SELECT DISTINCT versions['spark'] AS spark, versions['python'] AS python FROM runs"


@pytest.fixture(scope="session")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Versions], Program]:
    """The program in each environment."""
    return cache(lambda versions: Program(versions, wheel, tmp_path_factory.mktemp(str(versions))))


@pytest.fixture(scope="session")
def worked(program: Callable[[Versions], Program]) -> Callable[[Versions], Program]:
    """What each environment made; once."""
    return cache(lambda versions: program(versions).work())


@pytest.mark.parametrize("versions", MATRIX, ids=str)
def test_its_tables_are_those_of_every_other(
    versions: Versions, worked: Callable[[Versions], Program], bundled: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = worked(versions)
    assert differing(bundled.out, mine.audited) == 0, capsys.readouterr().out
    assert differing(worked(MATRIX[0]).out, mine.out) == 0, capsys.readouterr().out
    assert (mine.out / "tables" / "messages").is_dir()
    assert (mine.out / "tables" / "repair_actions").is_dir()


@pytest.mark.parametrize("versions", MATRIX, ids=str)
def test_both_engines_answer_alike(versions: Versions, worked: Callable[[Versions], Program]) -> None:
    mine = worked(versions)
    answers = {mine.run("sql", mine.out, QUERY, "--engine", engine) for engine in ("duckdb", "spark")}
    assert len(answers) == 1
    assert mine.run("sql", mine.out, VERSIONS).splitlines()[1].startswith(f"{versions.spark}.")


@pytest.mark.parametrize("versions", MATRIX, ids=str)
def test_spark_reads_the_rows_of_the_api(
    versions: Versions, program: Callable[[Versions], Program], tmp_path: Path
) -> None:
    """A batch under a filter, which Spark 4.0 does not push down, and a stream."""
    mine, out = program(versions), tmp_path / "out"
    mine.run_file(PROGRAM, str(OBJECTS), "{}", out, "ledger_id IN (22, 24) AND entry_id > 0")
    assert Path((out / MODULES).read_text()).is_relative_to(mine.place.resolve())
    found = rows_of_files(out)
    for rows in ("messages", "entries"):
        every = rows_of_api(str(OBJECTS), rows, {})
        assert found[rows] == [row for row in every if row["ledger_id"] in (22, 24) and row["entry_id"] > 0]
        assert found[rows]
    assert found["stream"] == rows_of_api(str(OBJECTS), "messages", {})


@pytest.mark.parametrize("trigger", ["available-now", "all-available"])
def test_spark_4_2_bounds_the_batches_of_a_stream(
    trigger: str, program: Callable[[Versions], Program], tmp_path: Path
) -> None:
    every, out = rows_of_api(str(OBJECTS), "entries", {}), tmp_path / "out"
    most = len(every) // 3 + 1
    program(MATRIX[-1]).run_file(BOUNDED, str(OBJECTS), str(most), out, trigger)
    batches = [pa.ipc.open_file(path.read_bytes()).read_all() for path in sorted(out.iterdir())]
    assert [batch.num_rows for batch in batches] == [most, most, len(every) - 2 * most]
    assert in_order(pa.concat_tables(batches)) == every
