"""`rebuild-topic` as it is typed, where no broker is asked: a dry run, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.auditing import DATA
from tests.cli.test_usage import run
from tests.ledgers.bookies.encoding import entry_log, put_log, record
from tests.wire.encode import entry

SOURCE = DATA / "export" / "objects"
NEW = "persistent://lab/live/again"


def test_a_dry_run_says_what_would_be_published(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "rebuild-topic", SOURCE, "--topic", "*/txn", "--to-topic", NEW) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["topic"], said["to_topic"], said["done"]) == ("persistent://lab/s3/txn", NEW, False)
    assert (said["ledgers"], said["entries"], said["markers"], said["uncommitted"]) == ([37], 8, 2, 4)


def test_damage_stops_it_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_log(tmp_path / "bookie", entry_log([record(7, n, entry()) for n in (0, 2)]))
    argv = ("rebuild-topic", tmp_path, "--to-topic", NEW)
    assert run(monkeypatch, *argv) == 1
    assert json.loads(capsys.readouterr().out)["places"] == ["7:1 is missing"]
    reach = ("--service-url", "pulsar://127.0.0.1:1", "--yes")
    assert run(monkeypatch, *argv, *reach) == 2
    assert "1 entry damaged or missing, first 7:1 is missing; nothing was published" in (capsys.readouterr().err)
    assert run(monkeypatch, *argv, *reach, "--skip-damaged") == 4
    assert "no connection" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((SOURCE, "--to-topic", "again"), "--to-topic again"),
        ((SOURCE, "--to-topic", NEW, "--yes"), "--service-url"),
        ((SOURCE, "--to-topic", NEW, "--service-url", "http://broker"), "--service-url http://broker"),
        ((SOURCE, "--to-topic", NEW), "name one with --topic"),
        (("pulsar://broker:6650", "--to-topic", NEW), "from what is stored"),
        ((SOURCE,), "--to-topic"),
    ],
)
def test_a_mistake_is_one_sentence(
    argv: tuple[str | Path, ...], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "rebuild-topic", *argv) == 2
    said = capsys.readouterr()
    assert words in said.err + said.out
    assert "Traceback" not in said.err
