"""`visible`: what is stored, what readers get, and what readers of a compacted topic get, as a real one got it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import pulsar_backlog
from pulsar_backlog.api.spark_source import PulsarBacklogSource
from pulsar_backlog.cli import run_cli
from pulsar_backlog.errors import UsageError
from tests.auditing import DATA, OBJECTS

COMPACTED = DATA / "compacted"
PLACE = ("ledger_id", "entry_id", "batch_index")
TOPICS = {"plain": OBJECTS, "batch-none": OBJECTS, "chunk": DATA / "export" / "objects"}


def read_by_java(name: str) -> list[list[Any]]:
    read: list[list[Any]] = json.loads((COMPACTED / f"{name}.java-reader-compacted.json").read_text())
    return sorted(one[:3] for one in read)


def places(source: Path, topic: str, **choices: Any) -> list[list[int]]:
    options = {"admin": str(choices.pop("admin"))} if "admin" in choices else {}
    rows = pulsar_backlog.open(str(source), **options).messages(topic, columns=PLACE, **choices).read_all()
    return sorted([row[name] for name in PLACE] for row in rows.to_pylist())


@pytest.mark.parametrize("name", sorted(TOPICS))
def test_a_compacted_topic_is_what_a_reader_got(name: str) -> None:
    found = places(TOPICS[name], f"*/compact-{name}", visible="compacted")
    assert found == read_by_java(name)
    assert len(found) < len(places(TOPICS[name], f"*/compact-{name}"))


def test_filters_come_after_compaction() -> None:
    """A key's older message does not come back because the newest is not wanted."""
    read = json.loads((COMPACTED / "plain.java-reader-compacted.json").read_text())
    key = read[0][3]
    assert len(places(OBJECTS, "*/compact-plain", key=key)) > 1
    assert places(OBJECTS, "*/compact-plain", key=key, visible="compacted") == [read[0][:3]]


def test_behind_the_horizon_is_the_log(tmp_path: Path) -> None:
    """Saved state says how far compaction came: what follows is there with all messages of a key."""
    everything = places(TOPICS["chunk"], "*/compact-chunk")
    for path in (COMPACTED / "admin").iterdir():
        state = path.read_text()
        (tmp_path / path.name).write_text(state)
    assert places(TOPICS["chunk"], "*/compact-chunk", visible="compacted", admin=tmp_path) == read_by_java("chunk")
    ledger_id, entry_id, _ = everything[-3]
    for path in tmp_path.iterdir():
        saved = json.loads(path.read_text())
        cursor = saved["cursors"]["__compaction"]
        if "markDelete" in cursor:
            cursor["markDelete"] = {"ledgerId": ledger_id, "entryId": entry_id}
        else:
            cursor["markDeletePosition"] = f"{ledger_id}:{entry_id}"
        path.write_text(json.dumps(saved))
    found = places(TOPICS["chunk"], "*/compact-chunk", visible="compacted", admin=tmp_path)
    assert found[-2:] == everything[-2:]
    assert found != read_by_java("chunk")


def test_stored_is_all_transactions() -> None:
    stored = places(DATA / "mapfiles", "*/txn", visible="stored")
    assert stored == places(DATA / "mapfiles", "*/txn", transactions="all")
    assert len(stored) > len(places(DATA / "mapfiles", "*/txn"))


def test_the_data_source_and_the_command_take_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = PulsarBacklogSource({"path": str(OBJECTS), "topic": "*/compact-plain", "visible": "compacted"})
    reader = source.reader(source.schema())
    found = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]  # type: ignore[union-attr]
    assert sorted([row[name] for name in PLACE] for row in found) == read_by_java("plain")
    words = ["messages", str(OBJECTS), "--topic", "*/compact-plain", "--visible", "compacted", "--json"]
    monkeypatch.setattr(sys, "argv", ["pulsar-backlog", *words])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    assert not ended.value.code
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("{")]) == len(found)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"visible": "all"}, "visible 'all' is none of committed, stored, compacted"),
        ({"transactions": "some"}, "transactions 'some'"),
        ({"visible": "compacted", "transactions": "all"}, "leave transactions out"),
    ],
)
def test_mistakes(choices: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        places(OBJECTS, "*", **choices)
