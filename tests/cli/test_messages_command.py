"""`messages`: rows at once, without Spark; what people sent is shown only when asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pulsar_backlog
from bench.generate import Spec, write_backlog
from tests.auditing import ADMIN, DATA, OBJECTS
from tests.processes import fresh_python

EXPORT = DATA / "export"


def run(*argv: object) -> tuple[int, list[dict[str, Any]], str]:
    done = fresh_python("-m", "pulsar_backlog.cli", "messages", *map(str, argv))
    lines = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return done.returncode, lines, done.stderr


def test_rows_are_those_of_the_api_up_to_the_limit() -> None:
    rows = pulsar_backlog.open(str(OBJECTS)).messages("*/go-keybatch-zlib").read_all().to_pylist()
    code, shown, _ = run(OBJECTS, "--topic", "*/go-keybatch-zlib", "--limit", "3")
    assert code == 0
    ids = [f"{row['ledger_id']}:{row['entry_id']}:{row['batch_index']}" for row in rows]
    assert [row["message_id"] for row in shown] == ids[:3]
    assert [row["payload_bytes"] for row in shown] == [row["payload_bytes"] for row in rows[:3]]


def test_what_people_sent_is_shown_only_when_asked_for() -> None:
    every = pulsar_backlog.open(str(OBJECTS)).messages("*/compact-plain").read_all().to_pylist()
    key = next(row["partition_key"] for row in every if row["partition_key"])
    _, hidden, _ = run(OBJECTS, "--topic", "*/compact-plain", "--key", key)
    assert {row["message_id"] for row in hidden} == {
        f"{row['ledger_id']}:{row['entry_id']}" for row in every if row["partition_key"] == key
    }
    assert not {"payload", "payload_base64", "partition_key", "properties"} & set().union(*hidden)
    _, shown, _ = run(OBJECTS, "--topic", "*/compact-plain", "--key", key, "--show-values")
    assert {row["partition_key"] for row in shown} == {key}
    assert all("payload" in row or "payload_base64" in row for row in shown)


def test_keys_open_what_is_encrypted() -> None:
    closed = run(EXPORT / "objects", "--limit", "1000")[1]
    opened = run(EXPORT / "objects", "--limit", "1000", "--private-keys", EXPORT / "keys")[1]
    assert sum(row["outcome"] == "no_key" for row in closed) > sum(row["outcome"] == "no_key" for row in opened)


def test_a_large_topic_is_not_read_to_its_end(tmp_path: Path) -> None:
    write_backlog(Spec(entries=60_000), tmp_path)
    (data,) = (path for path in tmp_path.iterdir() if not path.name.endswith("-index"))
    broken = bytearray(data.read_bytes())
    broken[40_000_000:] = b"\xff" * (len(broken) - 40_000_000)  # who reads so far meets damage
    data.write_bytes(broken)
    code, rows, _ = run(tmp_path, "--limit", "50")
    assert code == 0
    assert len(rows) == 50
    assert {row["outcome"] for row in rows} == {"exported"}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((OBJECTS, "--topic", "nobody"), "matches nobody"),
        ((OBJECTS, "--limit", "0"), "--limit"),
        ((OBJECTS, "--since", "2026-01-02", "--until", "2026-01-01"), "is not before --until"),
        (("/nowhere",), "is not a folder"),
        ((OBJECTS, "--admin", EXPORT / "keys"), "no saved state"),
    ],
)
def test_mistakes_are_one_sentence(argv: tuple[object, ...], words: str) -> None:
    code, _, said = run(*argv)
    assert code == 2
    assert words in said
    assert "Traceback" not in said


def test_saved_state_names_topics() -> None:
    assert run(OBJECTS, "--admin", ADMIN, "--limit", "2")[0] == 0


def test_decoded_values() -> None:
    typed = DATA / "typed"
    code, shown, error = run(typed / "objects", "--topic", "*/avro", "--decode", "schema:0", "--schemas", typed)
    assert code == 0, error
    client = [json.loads(line) for line in (typed / "messages.jsonl").read_text().splitlines()]
    expected = next(one["value"] for one in client if one["topic"] == "avro")
    assert shown[0]["value"] == expected | {"items": expected["items"], "tags": expected["tags"]}
    assert "payload" not in shown[0]
    code, shown, _ = run(typed / "objects", "--topic", "*/string", "--decode", "json")
    assert shown[0]["decode_error"] == "it is not JSON at character 0"
    code, _, error = run(typed / "objects", "--topic", "*/string", "--decode", "schema")
    assert (code, "no schema of persistent://lab/typed/string is known" in error) == (2, True)
