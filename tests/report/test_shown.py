"""What an audit ends with: the verdict on a terminal, JSON lines elsewhere and where they are asked for."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.terminal import surely_no_terminal, terminal
from tests.report.sample_models import lab


@pytest.mark.parametrize(
    ("is_terminal", "as_json", "in_json"), [(True, False, False), (True, True, True), (False, False, True)]
)
def test_the_result_of_an_audit(
    is_terminal: bool, as_json: bool, in_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job: Any = load_job("write_report")
    screen = io.StringIO()
    monkeypatch.setattr(job, "terminal", lambda: Console(file=screen, force_terminal=is_terminal, width=100))
    monkeypatch.setattr(job, "surely_no_terminal", lambda: not is_terminal)
    saved = {"schema_version": 2, "verdict": {"headline": "Stalled.", "sureness": "certain"}, "next": []}
    for show in (lambda: job.show(lab(), as_json), lambda: job.show_again(saved, as_json)):
        show()
        lines = capsys.readouterr().out.splitlines()
        assert bool(lines) is in_json
        assert all(isinstance(json.loads(line), dict) for line in lines)
        assert bool(screen.getvalue()) is not in_json


@pytest.mark.parametrize(("variable", "text"), [("FORCE_COLOR", "1"), ("TTY_COMPATIBLE", "1"), ("TERM", "xterm")])
def test_who_is_surely_no_terminal_is_none_for_rich(
    variable: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told without Rich, which takes a stream that is no device for a terminal where these variables say so."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, text)
    assert surely_no_terminal() is (variable == "TERM")
    assert surely_no_terminal() is not terminal().is_terminal
