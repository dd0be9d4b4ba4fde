"""Recommended settings: each with a log that asks for it, and one just short of that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pulsar_backlog.chunks.settings import TopicLoad, recommend

CALM = TopicLoad(
    chunked_messages=5, unusable_last_chunks=0, max_chunks=4, max_message_bytes=200_000, max_span_ms=20,
    peak_open_messages=2, peak_open_bytes=400_000, largest_header_bytes=100, slice_bytes=65_482, limit_bytes=65_536,
    largest_entry_bytes=65_590, small_singles=0,
)  # fmt: skip
DEFAULTS = {
    "maxPendingChunkedMessage": "10",
    "autoAckOldestChunkedMessageOnQueueFull": "false",
    "expireTimeOfIncompleteChunkedMessage": "60000 ms",
    "receiverQueueSize": "1000",
    "maxPendingMessages": "1000",
    "chunkMaxMessageSize": "unset",
    "maxMessageSize of the topic": "unset, or at least 65590",
}


def test_a_topic_without_chunks_needs_nothing() -> None:
    assert recommend(replace(CALM, chunked_messages=0)) == ()


@pytest.mark.parametrize(
    ("load", "changed"),
    [
        ({}, {}),
        ({"peak_open_messages": 8}, {}),  # with a quarter more still 10
        ({"peak_open_messages": 9}, {"maxPendingChunkedMessage": "12"}),
        ({"max_span_ms": 30_000}, {}),
        ({"max_span_ms": 30_001}, {"expireTimeOfIncompleteChunkedMessage": "70000 ms"}),
        ({"max_message_bytes": 268_435}, {}),  # a thousand of them are 256 MiB
        ({"max_message_bytes": 64 * 1024**2}, {"receiverQueueSize": "4"}),
        ({"max_message_bytes": 2**31}, {"receiverQueueSize": "1"}),
        ({"unusable_last_chunks": 499}, {}),
        ({"unusable_last_chunks": 500}, {"receiverQueueSize": "1002"}),
        ({"max_chunks": 800}, {}),
        ({"max_chunks": 801}, {"maxPendingMessages": "1002"}),
        ({"small_singles": 3}, {"enableBatching": "true, on a second producer"}),
        ({"largest_header_bytes": 10_240}, {}),
        ({"largest_header_bytes": 10_241}, {"chunkMaxMessageSize": "55295"}),
        ({"slice_bytes": 65_536}, {"chunkMaxMessageSize": "65436"}),  # nothing is left for the header
        ({"slice_bytes": 65_536, "limit_bytes": None}, {}),  # the limit is not known
    ],
)
def test_settings(load: dict[str, int], changed: dict[str, str]) -> None:
    assert {one.setting: one.value for one in recommend(replace(CALM, **load))} == DEFAULTS | changed


def test_reasons_give_the_numbers() -> None:
    reasons = {
        one.setting: one.reason for one in recommend(replace(CALM, peak_open_messages=14, unusable_last_chunks=900))
    }
    assert "14 unfinished" in reasons["maxPendingChunkedMessage"]
    assert "900 last chunks" in reasons["receiverQueueSize"]
    assert "65,536 bytes" in reasons["chunkMaxMessageSize"]
