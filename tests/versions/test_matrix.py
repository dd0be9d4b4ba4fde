"""Our wheel on each Python, Spark and Java that it says it runs on: the same tables, answers, exports and plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from scripts.compare_audits import differing
from tests.auditing import Audited
from tests.versions.environments import MATRIX, Versions
from tests.versions.program import Program

QUERY = "SELECT topic, state, count(*) AS n FROM chunked_messages GROUP BY topic, state ORDER BY 1, 2"
VERSIONS = "SELECT DISTINCT versions['spark'] AS spark, versions['python'] AS python FROM runs"


@pytest.fixture(scope="session")
def worked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Versions], Program]:
    """What each environment made; once."""
    return cache(lambda versions: Program(versions, wheel, tmp_path_factory.mktemp(str(versions))).work())


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
