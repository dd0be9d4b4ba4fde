"""`pulsar-backlog compacted` on ledgers that a real broker compacted, in the words that people read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cli import run_cli
from tests.auditing import DATA, OBJECTS

COMPACTED = DATA / "compacted"
CHUNKED = DATA / "export" / "objects"


def run(monkeypatch: pytest.MonkeyPatch, *argv: object) -> int:
    monkeypatch.setattr(sys, "argv", ["pulsar-backlog", "compacted", *map(str, argv)])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    return int(ended.value.code or 0)


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_chunked_messages_are_cut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    dump = COMPACTED / "ledger-481.entries"
    assert run(monkeypatch, CHUNKED, dump, "--admin", COMPACTED / "admin") == 1
    found = said(capsys)
    assert (found["named"], found["horizon"], found["horizon_known"]) == (True, [268, 51], True)
    assert (found["counts"], found["gaps"]) == ({"agrees": 2, "cut": 3}, 0)
    assert {one["key"] for one in found["examples"]} == {None}


def test_without_metadata_a_later_deletion_leaves_it_open(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, OBJECTS, COMPACTED / "ledger-478.entries", "--show-values") == 0
    found = said(capsys)
    assert (found["named"], found["horizon_known"], found["gaps"]) == (None, False, None)
    assert found["counts"] == {"agrees": 6, "maybe_deleted": 1}
    assert [one["key"] for one in found["examples"]] == ["k3"]


def test_another_ledger_than_the_cursor_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dump = tmp_path / "ledger-480.entries"
    dump.write_bytes((COMPACTED / "ledger-481.entries").read_bytes()[:-1])
    assert run(monkeypatch, CHUNKED, dump, "--admin", COMPACTED / "admin") == 4
    found = said(capsys)
    assert (found["named"], len(found["faults"]), found["counts"]["lost"]) == (False, 1, 1)


@pytest.mark.parametrize(
    ("dump", "words"), [(b"", "no entry"), (b"\x7f" * 99, "damaged at byte 0"), (None, "No such file")]
)
def test_no_dump(
    dump: bytes | None,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    if dump is not None:
        (tmp_path / "dump").write_bytes(dump)
    assert run(monkeypatch, OBJECTS, tmp_path / "dump") == 2
    assert words in capsys.readouterr().err


def test_a_topic_that_is_not_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, OBJECTS, COMPACTED / "ledger-481.entries") == 2
    assert "--topic" in capsys.readouterr().err
