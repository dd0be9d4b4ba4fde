"""Written names of models."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.clients.models import CURRENT, DEFAULT_MODELS, parse_model
from pulsar_backlog.chunks.clients.settings import BUILDS, FAMILIES, ClientSettings


def test_names_of_today() -> None:
    assert {name: parse_model(name).profile for name in CURRENT} == CURRENT
    assert set(DEFAULT_MODELS) <= set(CURRENT)
    assert set(BUILDS) == set(FAMILIES)


def test_settings() -> None:
    text = (
        "J-OLD:max_pending=5,auto_ack,expiry_seconds=300,ack_timeout_seconds=30,receiver_queue=10,shared,live,start=3:4"
    )
    assert parse_model(text) == ClientSettings(
        "J-OLD", max_pending=5, auto_ack=True, expiry_ms=300_000, ack_timeout_ms=30_000, receiver_queue=10,
        subscription="Shared", live=True, start=(3, 4),
    )  # fmt: skip
    assert parse_model("go:reconnect_after=3:4+5:6,acks_headless").reconnect_after == ((3, 4), (5, 6))


@pytest.mark.parametrize(("text", "word"), [
    ("perl", "perl"), ("", "''"), ("java:fast", "fast"), ("java:max_pending=many", "many"), ("go:start=7", "7"),
    ("java:live=1", "live=1"), ("java:receiver_queue=-1", "-1"), ("java:max_pending", "max_pending"),
])  # fmt: skip
def test_what_cannot_be_understood_is_named(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        parse_model(text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("java", 10), ("python", 10), ("go", 100), ("sql", None),
        # 0 is no limit in Java and C++, and the default in Go, where a negative number is no limit
        ("java:max_pending=0", None), ("go:max_pending=0", 100), ("go:max_pending=-1", None),
    ],
)  # fmt: skip
def test_pending_limit(text: str, limit: int | None) -> None:
    assert parse_model(text).pending_limit == limit
