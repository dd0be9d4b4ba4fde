"""How a bucket is asked: attempts, time, bytes and requests at once."""

from __future__ import annotations

from dataclasses import dataclass

CONNECT_SECONDS = 5.0
"""How long it may take to be connected."""
SILENCE_SECONDS = 30.0
"""How long no byte of an answer may come before it is given up."""
CRAWL_BYTES = 4096
"""Fewer bytes than that in as long a time are silence too."""


@dataclass(frozen=True)
class Access:
    """Bounds of what is asked of a bucket.

    Attributes:
        attempts: tries of one request that the store throttles, fails, cuts or does not answer in time.
        timeout_seconds: of one request, its answer and all its tries included.
        range_bytes: bytes asked for in one request at most.
        concurrency: requests of a process under way at once.
    """

    attempts: int = 10
    timeout_seconds: int = 120
    range_bytes: int = 8 * 1024 * 1024
    concurrency: int = 16


DEFAULT_ACCESS = Access()
