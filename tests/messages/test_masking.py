"""Masks: columns and fields within them, the same bytes elsewhere, and what cannot be masked."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pyarrow as pa
import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.messages.masking import KEY_VARIABLE, check_masks, masked, masks_of

KEY = "a key of many characters"
ITEM = pa.struct([("name", pa.string()), ("pieces", pa.int32())])
SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("verified", pa.bool_(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        ("partition_key", pa.string()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("payload", pa.binary()),
        ("payload_sha256", pa.string()),
        ("value", pa.struct([("email", pa.string()), ("items", pa.list_(ITEM)), ("raw", pa.binary())])),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "topic": "t",
        "partition_key": "k",
        "properties": [("email", "a@b"), ("other", "x")],
        "payload": b"p",
        "payload_sha256": "abc",
        "value": {
            "email": "a@b",
            "items": [{"name": "n", "pieces": 1}, None, {"name": None, "pieces": 2}],
            "raw": b"r",
        },
    },
    {"topic": "t", "partition_key": None, "properties": None, "payload": None, "payload_sha256": None, "value": None},
    {"topic": "t", "partition_key": "k", "properties": [], "payload": b"q", "payload_sha256": "d", "value": {}},
]


def batch() -> pa.RecordBatch:
    rows = [{**row, "verified": at == 0, "reason": "" if at == 0 else "why"} for at, row in enumerate(ROWS)]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def under(*masks: str, rows: pa.RecordBatch | None = None) -> list[dict[str, Any]]:
    parsed = masks_of(masks)
    check_masks(parsed, SCHEMA)
    made = masked(batch() if rows is None else rows, parsed)
    made.validate(full=True)
    return made.to_pylist()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def digest(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def test_a_column() -> None:
    made = under("partition_key=hash")
    assert [row["partition_key"] for row in made] == [digest("k"), None, digest("k")]
    assert [(row["verified"], row["reason"]) for row in made] == [
        (False, "masked"),
        (False, "why; masked"),
        (False, "why; masked"),
    ]
    changed = dict.fromkeys(("partition_key", "verified", "reason"))  # and nothing else
    assert [{**row, **changed} for row in made] == [{**row, **changed} for row in batch().to_pylist()]


def test_fields_within_take_the_payload_with_them() -> None:
    made = under("value.email=hash", "value.items.name=redact", "value.raw=null")
    assert made[0]["value"] == {
        "email": digest("a@b"),
        "items": [{"name": "***", "pieces": 1}, None, {"name": None, "pieces": 2}],
        "raw": None,
    }
    assert [row["value"] is None for row in made] == [False, True, False]
    assert {row["payload"] for row in made} == {row["payload_sha256"] for row in made} == {None}
    assert made[0]["partition_key"] == "k"


def test_a_key_of_a_map() -> None:
    made = under("properties.email=redact")
    assert [row["properties"] for row in made] == [[("email", "***"), ("other", "x")], None, []]


def test_a_slice_of_rows() -> None:
    made = under("value.items.name=hash", "properties.email=null", rows=batch().slice(1))
    assert [row["value"] is None for row in made] == [True, False]
    made = under("value.items.name=hash", rows=batch().slice(0, 1))
    assert made[0]["value"]["items"][0]["name"] == digest("n")


def test_payload_hash_goes_with_the_payload() -> None:
    assert under("payload=null")[0]["payload_sha256"] is None


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("partition_key", "write COLUMN=WAY"),
        ("partition_key=md5", "one of null, hash, redact"),
        ("=null", "write COLUMN=WAY"),
        ("colour=null", "no column colour"),
        ("value.colour=null", "no value.colour"),
        ("value.email.x=null", "no value.email.x"),
        ("value.items.pieces=hash", "neither text nor bytes"),
        ("value.raw=redact", "is no text"),
        ("topic=null", "never null"),
        ("value=hash", "neither text nor bytes"),
    ],
)
def test_what_cannot_be_masked(mask: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        under(mask)


def test_a_hash_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "short")
    with pytest.raises(UsageError, match="PULSAR_BACKLOG_MASK_KEY"):
        under("partition_key=hash")
    assert under("partition_key=null")[0]["partition_key"] is None
