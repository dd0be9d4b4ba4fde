"""What clients make of payloads that nobody decompresses."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.clients.payloads import decompressed
from tests.chunks.clients.logs import log


@pytest.mark.parametrize(
    ("text", "claim", "outcome"),
    [
        ("A0 A1 A2", 3000, "right"),
        ("A0 A1 A2", None, "right"),
        ("A0 A1 A2", 3001, "unknown"),  # all that is stored; the length or the bytes are wrong
        ("A0 A1 A2", 2999, "unknown"),
        ("A0 A1", 3000, "short"),  # two of three
        ("A0 A1:10 A2", 3000, "short"),  # the total says so too
    ],
)
def test_a_length_that_no_client_looks_at_says_whether_chunks_are_missing(
    text: str, claim: int | None, outcome: str
) -> None:
    assert decompressed("java", log(text, uncompressed_bytes=claim)) == outcome
