"""Messages by their schemas through the Python API: what the Java client sent, as typed columns."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import current_thread
from typing import Any

import polars
import pyarrow as pa
import pytest

import pulsar_backlog
from pulsar_backlog.api import decoded, decoding_threads, message_reader
from pulsar_backlog.errors import DecodeError, UsageError
from pulsar_backlog.messages import entry_rows

DATA = Path(__file__).parents[1] / "data" / "typed"
OBJECTS = DATA / "objects"
CLIENT = [json.loads(line) for line in (DATA / "messages.jsonl").read_text().splitlines()]


@pytest.fixture
def backlog() -> pulsar_backlog.Backlog:
    return pulsar_backlog.open(str(OBJECTS), schemas=str(DATA))


def values(topic: str) -> list[Any]:
    """What the client read of a topic."""
    return [one["value"] for one in CLIENT if one["topic"] == topic]


def test_decoded_rows_are_those_of_the_client(backlog: pulsar_backlog.Backlog) -> None:
    reader = backlog.messages("*/avro", decode=True, columns=["batch_index", "num_chunks", "value", "decode_error"])
    rows = reader.read_all().to_pylist()
    assert [row["value"] for row in rows] == [
        {name: one.get(name) for name in ("id", "count", "note", "currency")} for one in values("avro")
    ]
    assert {row["decode_error"] for row in rows} == {None}
    # A batch, messages alone, and some of two chunks or none.
    assert [row["batch_index"] for row in rows] == [0, 1, 2, 3, 4, 5, -1, -1, -1, -1, -1]


@pytest.mark.parametrize("topic", ["avro", "kvseparated", "string"])
def test_many_threads_give_what_one_gives(
    backlog: pulsar_backlog.Backlog, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded, "ENTRIES_AT_ONCE", 1)  # a batch of rows for each entry
    made = []
    for threads in (1, 4):
        monkeypatch.setattr(decoding_threads, "cores", lambda: threads)  # noqa: B023 - asked at once
        made.append(backlog.messages(f"*/{topic}", decode=True).read_all().to_pylist())
    assert made[0] == made[1] != []


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("topic", ["avro", "kvseparated", "string"])
def test_values_do_not_depend_on_the_other_columns(
    backlog: pulsar_backlog.Backlog, topic: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payloads that nobody asks for are decoded where they were read."""
    monkeypatch.setattr(decoding_threads, "cores", lambda: threads)
    every = backlog.messages(f"*/{topic}", decode=True).read_all()
    names = ["value", "decode_error"]
    for mode in ("permissive", "dropmalformed"):
        alone = backlog.messages(f"*/{topic}", decode=True, columns=names, mode=mode).read_all()
        assert alone.equals(every.select(names))
    key = next((one for one in every["partition_key"].to_pylist() if one is not None), "none")
    some = backlog.messages(f"*/{topic}", decode=True, key=key).read_all()
    assert backlog.messages(f"*/{topic}", decode=True, key=key, columns=names).read_all().equals(some.select(names))


@pytest.mark.parametrize("most", [0, 1 << 40])
def test_entries_that_hold_much_are_opened_in_their_turn(
    backlog: pulsar_backlog.Backlog, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = backlog.messages("*/avro", decode=True).read_all()
    threads: set[str] = set()

    def messages_of(*arguments: Any) -> Iterator[pa.RecordBatch]:
        threads.add(current_thread().name.split("_")[0])
        return entry_rows.messages_of(*arguments)

    monkeypatch.setattr(decoding_threads, "cores", lambda: 2)
    monkeypatch.setattr(message_reader, "MOST_BYTES", most)
    monkeypatch.setattr(message_reader, "messages_of", messages_of)
    assert backlog.messages("*/avro", decode=True).read_all().equals(expected)
    assert threads == ({"decoding"} if most else {current_thread().name.split("_")[0]})


def test_by_another_version_and_nested_columns(backlog: pulsar_backlog.Backlog) -> None:
    reader = backlog.messages("*/avro", decode="schema:0", columns=["value"])
    frame = polars.from_arrow(reader.read_all())
    assert isinstance(frame, polars.DataFrame)
    pieces = frame["value"].struct.field("items").list.first().struct.field("pieces")
    expected = [one["items"][0]["pieces"] if one.get("items") else None for one in values("avro")]
    assert pieces.to_list() == expected


def test_keys_of_key_and_value(backlog: pulsar_backlog.Backlog) -> None:
    rows = backlog.messages("*/kvseparated", decode=True, columns=["key", "value"]).read_all().to_pylist()
    assert rows == [{"key": one["key"], "value": {"name": None, **one["value"]}} for one in values("kvseparated")]


@pytest.mark.parametrize(
    ("decode", "first", "error"),
    [
        ("text", "text", None),
        ("bytes", b"text", None),
        ("json", None, "it is not JSON at character 0"),
    ],
)
def test_whatever_schema_they_name(
    backlog: pulsar_backlog.Backlog, decode: str, first: object, error: str | None
) -> None:
    row = backlog.messages("*/string", decode=decode).read_all().to_pylist()[0]
    assert (row["value"], row["decode_error"], row["payload"]) == (first, error, b"text")


def test_avro_with_a_file(backlog: pulsar_backlog.Backlog, tmp_path: Path) -> None:
    file = tmp_path / "s.avsc"
    file.write_text('"bytes"')  # `text` is a length of 58 and three bytes: too few
    rows = backlog.messages("*/string", decode=f"avro-with:{file}").read_all().to_pylist()
    assert rows[0]["decode_error"] == "it ends too early for its schema"
    assert (rows[0]["payload"], rows[0]["outcome"]) == (b"text", "exported")


def test_modes(backlog: pulsar_backlog.Backlog) -> None:
    assert len(backlog.messages("*/string", decode="json", mode="dropmalformed").read_all()) == 0
    with pytest.raises(DecodeError, match="it is not JSON at character 0 at"):
        backlog.messages("*/string", decode="json", mode="failfast").read_all()
    assert len(backlog.messages("*/string", decode=True, mode="failfast").read_all()) == 3


def test_saved_state_has_schemas_too(tmp_path: Path) -> None:
    shutil.copy(DATA / "lab__typed__string.schemas.json", tmp_path)
    shutil.copy(Path(__file__).parents[1] / "data/backlog/admin/lab__s3__brk-franken.stats.json", tmp_path)
    rows = pulsar_backlog.open(str(OBJECTS), admin=str(tmp_path)).messages("*/string", decode=True)
    assert rows.read_all().column("value").to_pylist() == values("string")


@pytest.mark.parametrize(
    ("decode", "topic", "words"),
    [
        ("xml", "*/avro", "decode 'xml' is none of schema"),
        ("schema:x", "*/avro", "is none of schema"),
        ("schema:9", "*/avro", "known versions are 0, 1"),
        (True, "*", "have different schemas: decode one topic at a time"),
        ("avro-with:/no/such", "*/avro", "avro-with: /no/such: No such file"),
    ],
)
def test_what_is_wrong_is_told(backlog: pulsar_backlog.Backlog, decode: str, topic: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        backlog.messages(topic, decode=decode)


def test_no_schema_is_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no schema of persistent://lab/typed/avro is known: name a folder"):
        pulsar_backlog.open(str(OBJECTS)).messages("*/avro", decode=True)
    (tmp_path / "lab__typed__avro.schemas.json").write_text("{")
    with pytest.raises(UsageError, match="is not JSON"):
        pulsar_backlog.open(str(OBJECTS), schemas=str(tmp_path)).messages("*/avro", decode=True)


def test_a_column_that_is_not_there(backlog: pulsar_backlog.Backlog) -> None:
    with pytest.raises(UsageError, match="no column key"):
        backlog.messages("*/avro", decode=True, columns=["key"])
    assert isinstance(backlog.messages("*/avro").schema, pa.Schema)


def test_masks(backlog: pulsar_backlog.Backlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULSAR_BACKLOG_MASK_KEY", "a key of many characters")
    masks = ["value.note=hash", "producer_name=redact"]
    rows = backlog.messages("*/avro", decode=True, mask=masks).read_all().to_pylist()
    notes = [one["note"] for one in values("avro")]
    masked = [row["value"]["note"] for row in rows]
    assert [one is None for one in masked] == [one is None for one in notes]
    assert len(set(masked)) == len(set(notes))
    assert {len(one) for one in masked if one is not None} == {64}
    assert (
        {row["payload"] for row in rows} == {row["payload_sha256"] for row in rows} == {None}
    )  # where the note is too
    assert {row["producer_name"] for row in rows} == {"***"}
    assert {(row["verified"], row["reason"]) for row in rows} == {(False, "masked")}
    with pytest.raises(UsageError, match=r"no value.colour to be masked"):
        backlog.messages("*/avro", decode=True, mask="value.colour=null")
