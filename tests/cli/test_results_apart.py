"""No command writes among the ledgers of its source: one sentence, exit code 2, and nothing is made there."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.options import JOB_OPTIONS
from tests.auditing import copy_ledgers
from tests.cli.test_usage import run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return copy_ledgers(tmp_path / "source", [22])


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("below", ["", "audit"])
@pytest.mark.parametrize(
    "argv",
    [
        ("audit", "SOURCE", "--out", "PLACE"),
        ("run", "audit", "--source", "SOURCE", "--out", "PLACE"),
        ("run", "repair_plan", "--source", "SOURCE", "--out", "PLACE"),
        ("export", "SOURCE", "--out", "PLACE"),
        ("export", "SOURCE", "--out", "OTHER", "--to", "PLACE"),
        ("rebuild-index", "SOURCE", "22", "--to", "PLACE"),
    ],
    ids=" ".join,
)
def test_commands(
    source: Path, argv: tuple[str, ...], below: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    before = names(tmp_path)
    places = {"SOURCE": source, "PLACE": source / below, "OTHER": tmp_path / "other"}
    assert run(monkeypatch, *(places.get(one, one) for one in argv)) == 2
    said = capsys.readouterr().err
    assert "would be written among its ledgers" in said
    assert len(said.splitlines()) == 1
    assert names(tmp_path) == before


@pytest.mark.parametrize("job", [job for job, options in JOB_OPTIONS.items() if "source" in options])
def test_jobs(source: Path, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = names(source)
    assert load_job(job).main(["--source", str(source), "--out", str(source / "audit")]) == 2
    assert "would be written among its ledgers" in capsys.readouterr().err
    assert names(source) == before
