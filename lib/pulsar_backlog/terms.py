"""Words that every room uses, each defined once: positions, states, roles, sureness, exit codes.

The states and roles are explained in docs/verdicts.md; what a process ends with, in the README.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

Position: TypeAlias = tuple[int, int]
"""Ledger id and entry id; ledger ids of a topic ascend with time."""

State = Literal["whole", "out_of_order", "orphan_prefix", "headless", "gap", "in_flight", "malformed"]
"""What the log holds of a publication."""
COMPLETE: frozenset[str] = frozenset({"whole", "out_of_order"})
"""States of publications whose every chunk is stored."""
INCOMPLETE: frozenset[str] = frozenset({"orphan_prefix", "headless", "gap"})
"""States of publications that lack a chunk and are not arriving any more."""
UNDELIVERABLE: frozenset[str] = INCOMPLETE | {"malformed"}
"""States of publications that no consumer can ever be given whole from the log."""

Role = Literal["used", "duplicate", "residue", "orphan", "conflicting"]
"""What a stored chunk entry is in its publication."""
SURPLUS: frozenset[str] = frozenset({"duplicate", "residue", "conflicting"})
"""Roles of copies beside one that is used, so that the message does not need them."""
UNUSED: frozenset[str] = SURPLUS | {"orphan"}
"""Every role but `used`: also copies of messages that cannot be rebuilt."""

Sureness = Literal["certain", "likely", "cannot_tell"]
"""How sure a verdict is, the surest first."""
SURENESSES: tuple[Sureness, ...] = get_args(Sureness)
DOUBT: dict[str, int] = {word: weight for weight, word in enumerate(SURENESSES)}
"""The order of sureness as numbers: the more doubt, the higher."""

EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, EXIT_FAILED, EXIT_INCOMPLETE = 0, 1, 2, 3, 4
EXIT_UNCHANGED, EXIT_INTERRUPTED = 99, 130
"""Exit codes of every job and command."""

RESULT_NAME = "result.json"
RESULT_VERSION = 3
"""Of result.json and of the JSON lines; grows when a field changes its meaning or goes away, or a part is added."""

LOCK_NAME = ".pulsar-backlog.lock"
"""File in every local folder that a command writes to; it says who does so now, and is no part of what lies there."""


def least_sure(of: Iterable[str]) -> Sureness:
    """The word with the most doubt; `certain` where there is none."""
    return SURENESSES[max((DOUBT[word] for word in of), default=0)]


def position_of(text: str) -> Position:
    """The position that `LEDGER:ENTRY` names."""
    ledger_id, _, entry_id = text.partition(":")
    return int(ledger_id), int(entry_id)


def position_text(position: Position) -> str:
    """A position as people and finding texts name it: `LEDGER:ENTRY`."""
    return f"{position[0]}:{position[1]}"
