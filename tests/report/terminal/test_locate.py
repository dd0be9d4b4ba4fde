"""The words of `locate`."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from pulsar_backlog.report.terminal.locate import Located, doubts_about_id, located_entry, located_time, print_located
from pulsar_backlog.wire.message_id import parse_message_id


def row(**given: Any) -> dict[str, Any]:
    """A message's row of `seek_positions`."""
    blank = {
        "cluster": "c", "topic": "t", "ledger_id": 22, "entry_id": 3, "seek_ledger_id": 22, "seek_entry_id": 3,
        "message_ledger_id": None, "message_entry_id": None, "last_index": 3, "num_messages_in_batch": None,
        "publish_time": None, "broker_timestamp": None, "marker_type": None, "chunk_id": None, "num_chunks": None,
        "state": None, "sureness": None, "is_further_copy": False, "is_mixed": False,
    }  # fmt: skip
    return blank | given


CHUNK = {
    "seek_entry_id": 0, "message_ledger_id": 22, "message_entry_id": 3, "chunk_id": 3, "num_chunks": 4,
    "state": "whole", "sureness": "certain",
}  # fmt: skip


THIRD = "22:3 is chunk 3 of 4, counted from 0"


@pytest.mark.parametrize(
    ("given", "words", "message_id", "notes"),
    [
        ({}, "22:3 is a message", None, 0),
        ({"num_messages_in_batch": 7}, "22:3 is a batch of 7 messages", None, 0),
        ({"marker_type": 21}, "22:3 is a marker that the broker wrote for its own use, not a message", None, 0),
        (CHUNK, f"{THIRD}; its message begins at 22:0", "22:0;22:3", 0),
        (CHUNK | {"is_further_copy": True}, f"{THIRD}; its message begins at 22:0", "22:0;22:3", 1),
        (CHUNK | {"state": "orphan_prefix"}, f"{THIRD}; its message begins at 22:0", "22:0;22:3", 1),
        (CHUNK | {"state": "headless"}, f"{THIRD}; the earliest chunk that is stored is 22:0", "22:0;22:3", 1),
        (CHUNK | {"state": "headless", "is_mixed": True}, f"{THIRD}; its message begins at 22:0", "22:0;22:3", 1),
    ],
)  # fmt: skip
def test_an_entry_in_words(given: dict[str, Any], words: str, message_id: str | None, notes: int) -> None:
    found = located_entry("22:3", row(**given))
    assert (found.words, found.message_id, len(found.notes)) == (words, message_id, notes)


PARTITION = {"topic": "persistent://a/b/c-partition-2"}
BATCH = {"num_messages_in_batch": 7}


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("22:3", {}),
        ("22:3:-1", {}),
        ("22:3:0", {}),  # Go writes 0 where a topic has no partitions
        ("22:0:0;22:3:0", CHUNK),
        ("(22,0,-1,-1);(22,3,-1,-1)", CHUNK),
        ("22:3:2", PARTITION),
        ("22:3:0", PARTITION),  # and where a partition is read by its own name
        ("22:3:-1:6", BATCH),
        ("22:3:6", BATCH),  # `pulsar-admin topics peek-messages`: ledger, entry, place in the batch
    ],
)
def test_ids_that_the_tables_bear_out(text: str, given: dict[str, Any]) -> None:
    assert list(doubts_about_id(parse_message_id(text), row(**given))) == []


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("22:3:1", {}, "names partition 1"),
        ("(22,3,1,-1)", {}, "names partition 1"),
        ("22:3:1", PARTITION, "names partition 1"),
        ("22:3:7", BATCH, "names partition 7"),  # neither its partition nor a message of its batch
        ("22:3:2:0", BATCH, "names partition 2"),
        ("22:3:-1:7", BATCH, "names message 7 of a batch, but the entry holds 7"),
        ("22:1:0;22:3:0", CHUNK, "names 22:1 as the first chunk"),
        ("22:3:0", CHUNK, "begin in mid-message"),
    ],
)
def test_ids_that_the_tables_contradict(text: str, given: dict[str, Any], words: str) -> None:
    (doubt,) = doubts_about_id(parse_message_id(text), row(**given))
    assert words in doubt


def test_a_time_that_falls_into_a_message_is_sought_at_its_first_chunk() -> None:
    side = {
        "cluster": "c",
        "topic": "t",
        "clock": "broker",
        "before": {"ledger_id": 22, "entry_id": 2},
        "with_clock": 9,
    }
    found = located_time("noon", side, row(**CHUNK))
    assert (found.position, found.seek, found.window) == ("22:3", "22:0", None)
    assert found.notes == ("22:3 is chunk 3 of 4, counted from 0; its message begins at 22:0",)


def test_times_that_do_not_rise_name_the_window() -> None:
    side = {
        "cluster": "c",
        "topic": "t",
        "clock": "publish",
        "before": {"ledger_id": 23, "entry_id": 0},
        "with_clock": 9,
    }
    assert located_time("noon", side, row()).window == ("22:3", "23:0")


@pytest.mark.parametrize(
    ("before", "words"),
    [({"ledger_id": 1, "entry_id": 1}, "everything stored is before it"), (None, "no entry has a time")],
)
def test_a_time_after_everything(before: dict[str, int] | None, words: str) -> None:
    side = {"cluster": "c", "topic": "t", "clock": "publish", "before": before, "with_clock": 0}
    found = located_time("noon", side, None)
    assert words in found.words
    assert found.seek is None


def test_a_terminal_gets_sentences_and_nothing_that_steers_it() -> None:
    out = io.StringIO()
    print_located(
        [located_entry("22:3", row(topic="a\x1b[2Jb"))],
        Console(file=out, force_terminal=True, width=200, highlight=False),
    )
    assert "22:3 is a message" in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()


def test_a_pipe_gets_json_lines() -> None:
    out = io.StringIO()
    found = located_entry("22:3", row(**CHUNK))
    print_located([found, found], Console(file=out))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [Located(**(line | {"notes": tuple(line["notes"])})) for line in lines] == [found, found]
