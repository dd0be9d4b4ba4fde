"""How many messages are open at one time."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.clients.open_in_log import OpenInLog
from tests.chunks.clients.logs import GAP_MS, log


@pytest.mark.parametrize(
    ("text", "expiry_ms", "peak"),
    [
        ("A0 A1 A2 B0 B1 B2", 1000, 1),
        ("A0 B0 C0 A1 A2 B1 B2 C1 C2", 1000, 3),
        # two publications under one uuid are two
        ("A0 a0 A1 A2", 1000, 2),
        # what was abandoned counts until it would have expired, by its newest chunk
        ("A0 . . B0 . . C0", 1000, 3),
        ("A0 . . B0 . . C0", 3 * GAP_MS, 2),
        ("A0 . A1 B0 . . C0", 3 * GAP_MS, 2),
        # no beginning, no message; a chunk of one is none either
        ("A1 B1 C1", 1000, 0),
        ("A0/1 B0/1", 1000, 0),
    ],
)
def test_peak(text: str, expiry_ms: int, peak: int) -> None:
    open_in_log = OpenInLog(expiry_ms)
    open_in_log.pass_all(log(text))
    assert open_in_log.peak == peak
