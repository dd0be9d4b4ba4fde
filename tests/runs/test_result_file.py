"""`result.json` while an audit runs: the result of the audit before goes from job to job and is read once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pulsar_backlog.runs import result_file
from pulsar_backlog.runs.result_file import attempt
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.terms import RESULT_NAME

NEEDS_SPARK = False

STARTED = datetime(2026, 11, 26, tzinfo=UTC)
LAST = {"state": "finished", "exit_code": 1, "topics": ["orders", "\u202e"], "last": "not one of ours"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / RESULT_NAME).write_text(json.dumps(LAST, indent=1))
    return tmp_path


def said(out: Path) -> dict[str, object]:
    result = json.loads((out / RESULT_NAME).read_text())
    assert isinstance(result, dict)
    return result


def test_jobs_of_an_audit_parse_the_result_before_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    real = result_file.json.loads
    monkeypatch.setattr(result_file.json, "loads", lambda text: (parsed.append(text), real(text))[1])
    with attempt(str(out), None, "c", STARTED, makes=True):
        for job in ("inventory_ledgers", "scan_entries", "write_report"):
            with attempt(str(out), job, "c", STARTED):
                pass
    assert len(parsed) == 1
    monkeypatch.undo()
    result = said(out)
    assert (result["state"], result["job"], result["last"]) == ("unfinished", "write_report", LAST)


def test_what_somebody_wrote_in_between_counts(out: Path) -> None:
    with attempt(str(out), "inventory_ledgers", "c", STARTED):
        pass
    other = {"state": "finished", "exit_code": 0}
    beside(str(out)).write(RESULT_NAME, json.dumps(other))
    with attempt(str(out), "scan_entries", "c", STARTED) as made:
        assert said(out)["last"] == other
    assert made is not None
    made.take_back()
    assert said(out) == other


def test_another_folder_has_its_own(out: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with attempt(str(out), "inventory_ledgers", "c", STARTED), attempt(str(elsewhere), None, "c", STARTED, makes=True):
        assert said(elsewhere)["last"] is None
    assert said(out)["last"] == LAST


def test_a_job_that_is_stopped_leaves_the_result_before(out: Path) -> None:
    with (
        pytest.raises(ValueError, match="broken"),
        attempt(str(out), None, "c", STARTED, makes=True),
        attempt(str(out), "scan_entries", "c", STARTED),
    ):
        raise ValueError("broken")
    assert said(out)["state"] == "stopped"
    assert said(out)["last"] == LAST
    with attempt(str(out), "inventory_ledgers", "c", STARTED) as made:
        assert made is not None
        made.take_back()
    assert said(out)["state"] == "unfinished", "what an audit that was stopped left is no answer"
