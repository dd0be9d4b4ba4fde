"""What an audit goes by that an earlier one was given or looked at, and how old it is: sentences after the headline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pulsar_backlog.counting import counted

_DAY_MS = 86_400_000
_SCOPE = ("topic", "ledger", "since", "until")
"""Options by which an audit looks at some ledgers only."""


@dataclass(frozen=True)
class EarlierState:
    """Saved state that an audit goes by without having been given it.

    Attributes:
        topics: topics whose state is of an earlier audit.
        of: topics whose state is known.
        saved_ms: when the oldest of it was saved; None when that is not known.
        is_given: whether the audit was given saved state, which lacks these topics.
    """

    topics: int
    of: int
    saved_ms: int | None
    is_given: bool


@dataclass(frozen=True)
class EarlierScope:
    """Ledgers that an audit was told not to look at, and an earlier one did.

    Attributes:
        options: that narrowed it.
        looked_ms: when the earlier one began.
    """

    options: tuple[str, ...]
    looked_ms: int


@dataclass(frozen=True)
class Earlier:
    """What an audit goes by that is not of this audit; None where there is nothing."""

    state: EarlierState | None = None
    scope: EarlierScope | None = None

    def sentences(self, now_ms: int) -> Iterator[str]:
        """What it is, and how old now."""
        if self.state is not None:
            yield _of_state(self.state, now_ms)
        if self.scope is not None:
            flags = ", ".join(f"--{name}" for name in self.scope.options)
            then = _at(self.scope.looked_ms, now_ms)
            yield f"This audit was narrowed by {flags}; the rest is of the audit of {then}."


NOTHING_EARLIER = Earlier()


def earlier_scope(inventories: Sequence[Mapping[str, Any]]) -> EarlierScope | None:
    """What the last of several inventories left to an earlier one; None where it left nothing.

    Args:
        inventories: rows with `options` and `started_ms`, the oldest first.
    """
    scopes = [{name: run["options"][name] for name in _SCOPE if name in run["options"]} for run in inventories]
    others = [run for run, scope in zip(inventories, scopes, strict=True) if scope != scopes[-1]]
    if not scopes or not scopes[-1] or not others:
        return None
    whole = [run for run, scope in zip(inventories, scopes, strict=True) if not scope]
    return EarlierScope(tuple(scopes[-1]), (whole or others)[-1]["started_ms"])


def _of_state(state: EarlierState, now_ms: int) -> str:
    whose = f"Subscriptions of {counted(state.topics, 'topic')} are" if state.is_given else "Subscriptions are"
    then = "an earlier audit was given them" if state.saved_ms is None else f"saved on {_at(state.saved_ms, now_ms)}"
    why = "this audit's saved state lacks them" if state.is_given else "this audit was given no saved state"
    return f"{whose} as {then}; {why}."


def _at(ms: int, now_ms: int) -> str:
    days = (now_ms - ms) // _DAY_MS
    age = "less than a day before" if days < 1 else f"{counted(days, 'day')} before"
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M} UTC, {age}"
