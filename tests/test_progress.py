"""Progress where there is no terminal: silence for short work, lines with numbers for long work."""

from __future__ import annotations

import time

import pytest

from pulsar_backlog import progress as module
from pulsar_backlog.progress import elapsing, progress


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("scan", 10) as show, show.watch(lambda: 10):
        pass
    assert capsys.readouterr() == ("", "")


def test_long_work_tells_bytes_rate_and_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    with progress("scan", 3_000_000) as show:
        with show.watch(lambda: 1_000_000):
            time.sleep(0.1)
        with show.watch(lambda: 2_000_000):  # a second block adds to the first
            pass
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""  # standard output is the result's
    assert lines[0].startswith("scan: 1 of 3 MB, ")
    assert lines[0].endswith(" s left")
    assert lines[-1].startswith("scan: 3 of 3 MB, ")
    assert lines[-1].endswith(" 0 s left")


def test_nothing_done_yet_is_no_division_by_zero(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_SECONDS", 0.0)
    with progress("scan", 0) as show, show.watch(lambda: 0):
        pass
    assert capsys.readouterr().err == ""


def test_a_failure_ends_the_watching_thread_and_passes_on() -> None:
    import threading

    before = threading.active_count()
    with pytest.raises(RuntimeError), progress("scan", 1) as show, show.watch(lambda: 0):
        raise RuntimeError
    assert threading.active_count() == before


def test_work_of_unknown_size_tells_how_long_it_has_taken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_SECONDS", 0.05)
    with elapsing("[3/7] assemble_chunks"):
        time.sleep(0.3)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("[3/7] assemble_chunks: 0 s so far\n")
    time.sleep(0.2)
    assert capsys.readouterr().err == ""  # it ends with the work


def test_short_work_of_unknown_size_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), elapsing("[3/7] assemble_chunks"):
        raise RuntimeError
    assert capsys.readouterr() == ("", "")
