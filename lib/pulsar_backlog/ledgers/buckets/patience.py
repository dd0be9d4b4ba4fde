"""Ask a store again where it throttles, fails, cuts an answer or stands still; soon give up where nobody listens."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

CONNECT_ATTEMPTS = 3
"""Tries where no connection is made at all: a wrong address is told within seconds."""
LOST_CAUSE = 2
"""Requests given up one after the other, after which each is tried once, until one succeeds."""

FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 10.0

_PASSING = frozenset(("throttled", "server_error", "cut", "slow"))

Answer = TypeVar("Answer")


class StoreError(Exception):
    """A request that a store did not answer as it was asked.

    Attributes:
        kind: `throttled`, `server_error`, `cut` (the answer ends early), `slow` (it does not come in time),
            `unconnected`, `redirected`, `not_found`, `denied`, `taken` (a name that another writer has), `beyond_end`
            (a range that begins behind the object's end) or `failed`.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Patience:
    """How often and how long a store is asked for the same; one for all requests of a process, so that it wears out."""

    def __init__(self, attempts: int, timeout_seconds: float) -> None:
        self._attempts = attempts
        self._timeout_seconds = timeout_seconds
        self._given_up = 0

    def ask(self, request: Callable[[float], Answer]) -> Answer:
        """The answer to a request, which is told how many seconds it has: what earlier tries left of its time.

        Raises:
            StoreError: what the last try met.
        """
        ends = time.monotonic() + self._timeout_seconds
        tried = 0
        while True:
            tried += 1
            try:
                answer = request(ends - time.monotonic())
            except StoreError as fault:
                wait = wait_seconds(tried)
                if tried >= self._limit(fault.kind) or time.monotonic() + wait >= ends:
                    self._given_up += tried > 1
                    raise
            else:
                self._given_up = 0
                return answer
            time.sleep(wait)

    def _limit(self, kind: str) -> int:
        if kind == "unconnected" and self._given_up < LOST_CAUSE:
            return min(self._attempts, CONNECT_ATTEMPTS)
        return self._attempts if kind in _PASSING and self._given_up < LOST_CAUSE else 1


def wait_seconds(tried: int) -> float:
    """How long to wait after so many tries: up to a bound that doubles, by chance, so that clients come apart."""
    return random.uniform(0, min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0**tried))  # noqa: S311 - no secret


def kind_of_status(status: int) -> str | None:
    """What an HTTP status says, or None where it is no fault."""
    if status < 400:
        return None
    if status in (401, 403):
        return "denied"
    if status >= 500:
        return "throttled" if status == 503 else "server_error"
    return {
        404: "not_found", 408: "slow", 409: "taken", 412: "taken", 416: "beyond_end", 429: "throttled"
    }.get(status, "failed")  # fmt: skip
