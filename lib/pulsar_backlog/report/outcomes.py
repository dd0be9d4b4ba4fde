"""What a publication's verdict comes to for the people who want the message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from pulsar_backlog.chunks.verdict_findings import NO_LOSS
from pulsar_backlog.report.model import PublicationGroup, PublicationRow
from pulsar_backlog.report.words import STATE_ORDER, STATES, SURENESS
from pulsar_backlog.terms import INCOMPLETE

Outcome = Literal["lost", "maybe_lost", "blocking", "damaged", "malformed", "rescue", "in_flight", "odd", "fine"]

_BLOCKING = frozenset({"decode_fault", "sizes_lie"})
_CLIENTS_LOSE_IT = frozenset({"repeated_prefix", "overlap"})
_HARMLESS = frozenset({"ledger_span"})

MIXED = "mixed_with_another_publication"
"""Flag of publications that clients may deliver joined with another."""

BROKEN: tuple[Outcome, ...] = ("lost", "rescue", "blocking", "maybe_lost", "damaged", "malformed")
"""Outcomes that somebody has to do something about, in the order a verdict names them."""


def outcome(state: str, flags: Iterable[str], rebuildable: bool, sureness: str) -> Outcome:
    """The one thing a publication is to its owner.

    `rescue`: every byte is stored, but some or all real clients drop it. `damaged`: no good copy of
    every chunk. `blocking`: some clients crash or hang on it. A state of another version that is not
    rebuildable may be lost.
    """
    flag_set = set(flags)
    if state == "orphan_prefix" and NO_LOSS in flag_set:
        return "odd"
    if state in ("in_flight", "malformed"):
        return "in_flight" if state == "in_flight" else "malformed"
    if flag_set & _BLOCKING:
        return "blocking"
    if state in INCOMPLETE:
        return "maybe_lost" if known_sureness(sureness) == "cannot_tell" else "lost"
    if not rebuildable:
        return "damaged" if state in STATES else "maybe_lost"
    if state != "whole" or flag_set & _CLIENTS_LOSE_IT:
        return "rescue"
    return "odd" if flag_set - _HARMLESS else "fine"


def group_outcome(group: PublicationGroup) -> Outcome:
    """The outcome of each publication of the group."""
    return outcome(group.state, group.flags, group.rebuildable, group.sureness)


def row_outcome(row: PublicationRow) -> Outcome:
    """The outcome of one listed publication."""
    return outcome(row["state"], row["flags"], row["rebuildable"], row["sureness"])


def known_sureness(sureness: str) -> str:
    """The sureness; what another version wrote cannot be told."""
    return sureness if sureness in SURENESS else "cannot_tell"


def by_outcome(groups: Iterable[PublicationGroup]) -> Counter[Outcome]:
    """Publications by outcome."""
    counts: Counter[Outcome] = Counter()
    for group in groups:
        counts[group_outcome(group)] += group.publications
    return counts


def by_state(groups: Iterable[PublicationGroup]) -> dict[str, int]:
    """Publications by state, worst state first; states without any are left out."""
    counts: Counter[str] = Counter()
    for group in groups:
        counts[group.state] += group.publications
    present = {state: counts[state] for state in STATE_ORDER if counts[state]}
    return present | {state: counts[state] for state in sorted(counts) if state not in present and counts[state]}


def by_flag(groups: Iterable[PublicationGroup]) -> dict[str, int]:
    """Publications by flag, most frequent first; one publication may have several."""
    counts: Counter[str] = Counter()
    for group in groups:
        for flag in group.flags:
            counts[flag] += group.publications
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def rebuildable(groups: Iterable[PublicationGroup]) -> int:
    """Publications of which a valid copy of every chunk is stored."""
    return sum(group.publications for group in groups if group.rebuildable)


def sureness_of_broken(groups: Iterable[PublicationGroup]) -> Counter[str]:
    """How sure the verdicts on broken publications are."""
    counts: Counter[str] = Counter()
    for group in groups:
        if group_outcome(group) in BROKEN:
            counts[known_sureness(group.sureness)] += group.publications
    return counts
