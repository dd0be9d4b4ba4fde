"""What the Java client wrote, decoded: the values are those that a reader with AUTO_CONSUME got."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pulsar_backlog.schemas.saved import saved_versions
from pulsar_backlog.schemas.values import TopicSchemas, version_number
from tests.schemas.payload_rows import decoded

DATA = Path(__file__).parents[1] / "data" / "typed"
MESSAGES = [json.loads(line) for line in (DATA / "messages.jsonl").read_text().splitlines()]
TOPICS = sorted({message["topic"] for message in MESSAGES} - {"bytes", "protobuf"})
"""Bytes have no schema: their producer names no version."""
_FIRST_PROTOBUF = next(at for at, message in enumerate(MESSAGES) if message["topic"] == "protobuf")
IN_JSON = ("json", "jsontimes")
"""Topics whose values the client gives as the JSON that was sent: without the fields that were not."""


@pytest.mark.parametrize("topic", TOPICS)
def test_values_are_those_of_the_client(topic: str) -> None:
    versions = saved_versions(str(DATA), f"persistent://lab/typed/{topic}")
    messages = [message for message in MESSAGES if message["topic"] == topic]
    assert messages
    for message in messages:
        # Each by the version it was written with, as the client does.
        number = version_number(base64.b64decode(message["version"]))
        (made,) = decoded(TopicSchemas(versions, reader=number), _row(message))
        assert made["decode_error"] is None
        ours = {"key": made["key"], "value": made["value"]} if "key" in made else made["value"]
        assert as_the_client_tells(topic, ours) == as_the_client_tells(topic, expected_value(topic, message["value"]))


def test_a_list_of_fields_knows_the_outermost_message() -> None:
    versions = saved_versions(str(DATA), "persistent://lab/typed/protobuf")
    made = decoded(TopicSchemas(versions), *(_row(one) for one in MESSAGES if one["topic"] == "protobuf"))
    assert [one["decode_error"] for one in made] == [None, None]
    first, second = ({name: part for name, part in one["value"].items() if part is not None} for one in made)
    # No defaults; the number of EFFECTIVELY_ONCE; messages within it as on the wire.
    assert (first["tenant"], first["processingGuarantees"], "parallelism" in first) == ("t0", 2, False)
    assert (second["tenant"], second["parallelism"], "namespace" in second) == ("t3", 3, False)
    assert second["resources"] == bytes.fromhex("09000000000000f83f10808080808020")
    assert list(made[0]["value"]) == list(MESSAGES[_FIRST_PROTOBUF]["value"])


def test_older_versions_become_the_newest() -> None:
    versions = saved_versions(str(DATA), "persistent://lab/typed/avro-partition-3")
    made = decoded(TopicSchemas(versions), *(_row(one) for one in MESSAGES if one["topic"] == "avro"))
    assert [one["decode_error"] for one in made] == [None] * 11
    theirs = [one["value"] for one in MESSAGES if one["topic"] == "avro"]
    wanted = ("id", "count", "note", "currency")  # those of the later class; the earlier has no currency
    assert [one["value"] for one in made] == [{name: one.get(name) for name in wanted} for one in theirs]


def _row(message: dict[str, Any]) -> dict[str, Any]:
    data = message["data"]
    return {
        "payload": None if data is None else base64.b64decode(data),
        "schema_version": base64.b64decode(message["version"]),
        "partition_key": message["partition_key"],
        "partition_key_b64_encoded": message["partition_key"] is not None,
    }


def as_the_client_tells(topic: str, value: Any) -> Any:
    """Our value as the program prints the client's."""
    if value in ([], {}):
        return None  # of an empty list and of an empty map Arrow makes the same
    if isinstance(value, dict):
        return {name: as_the_client_tells(topic, one) for name, one in value.items()}
    if isinstance(value, list):
        pairs = bool(value) and isinstance(value[0], tuple)
        told = [as_the_client_tells(topic, one[1] if pairs else one) for one in value]
        return dict(zip((one[0] for one in value), told, strict=True)) if pairs else told
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        return float(np.float32(value)) if topic == "float" else value
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def expected_value(topic: str, value: Any) -> Any:
    """The client's value, its numbers of times as times."""
    if topic in IN_JSON:
        return _times_of_json(value) if topic == "jsontimes" else {**dict.fromkeys(_FIELDS[len(value) < 6]), **value}
    if topic == "avrotimes":
        minutes, millis = divmod(value["clock"], 60_000)
        clock = f"{minutes // 60:02}:{minutes % 60:02}:{millis / 1000:09.6f}"
        return {"at": _utc(value["at"]), "clock": clock, "day": _day(value["day"])}
    if topic in ("date", "time", "timestamp"):
        return _utc(value)
    if topic == "instant":
        return datetime.fromisoformat(value[:26].rstrip("Z") + "+00:00").isoformat()
    if topic == "localtime":
        return value if "." in value else f"{value}:00.000000000"
    if topic == "localdatetime":
        return datetime.fromisoformat(value).isoformat()
    if topic == "float":
        return float(np.float32(value))
    if topic == "kvseparated":
        return {"key": value["key"], "value": {"name": None, **value["value"]}}
    return value


_FIELDS = (
    ("id", "count", "paid", "weight", "price", "note", "raw", "colour", "items", "tags", "first"),
    ("id", "count", "note", "currency"),
)


def _utc(millis: int) -> str:
    return (
        datetime.fromisoformat("1970-01-01T00:00:00+00:00") + np.timedelta64(millis, "ms").astype(object)
    ).isoformat()


def _day(days: int) -> str:
    return date.fromordinal(date(1970, 1, 1).toordinal() + days).isoformat()


def _times_of_json(value: dict[str, Any]) -> dict[str, Any]:
    hour, minute, second, nanos = value["clock"]
    clock = f"{hour:02}:{minute:02}:{second:02}.{nanos // 1000:06}"
    return {"at": _utc(round(value["at"] * 1000)), "day": date(*value["day"]).isoformat(), "clock": clock}
