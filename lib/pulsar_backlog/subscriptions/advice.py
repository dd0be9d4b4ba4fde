"""What is to be done about a subscription. It is decided here; tables, reports, terminal and plans only tell it.

A subscription has one advice, made of all its chunk sets and of what models of clients forecast for what it has not
acknowledged. What a set needs is what a repair plan really does about it:

| need | when | what a plan does |
|---|---|---|
| `wait` | a message with its uuid may still be arriving, or every client gets it when opened again | nothing |
| `keep` | its chunks contradict each other or its bytes: no export verifies it | acknowledges it for `--give-up` |
| `export` | it can be rebuilt | once it is exported: republishes what is lacking, acknowledges it |
| `reset` | the cursor stands inside a whole message | resets the cursor |
| `settle` | it is incomplete, and not for certain | acknowledges it for `--accept-unsure` |
| `acknowledge` | it is incomplete for ever | acknowledges it |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from pulsar_backlog.counting import counted
from pulsar_backlog.subscriptions.stall_values import Action
from pulsar_backlog.terms import SURENESSES

Need = Literal["keep", "settle", "export", "reset", "acknowledge", "wait", "none"]

UNVERIFIABLE = frozenset({"decode_fault", "sizes_lie", "metadata_conflict", "copies_differ"})
"""Flags of messages that no export verifies."""

LABELS: dict[Need, str] = {
    "keep": "Keep copies, then give it up",
    "settle": "Settle what is unsure",
    "export": "Export, verify, then acknowledge",
    "reset": "Reset to the first chunk",
    "acknowledge": "Acknowledge",
    "wait": "Wait",
    "none": "Nothing to do",
}
"""What to do, in a few words, the most urgent first."""

HOW: dict[Need, str] = {
    "keep": "No export can verify this message, because it contradicts itself: copy the objects that hold its entries, "
    "and ask its producer to send it again. The plan acknowledges it only because --give-up names it.",
    "settle": "It is not certain that the rest is lost: settle what the reason names (a later snapshot, the missing "
    "ledgers) and audit again. The plan acknowledges it only because of --accept-unsure.",
    "export": "The export keeps the message. Then the plan republishes what the subscription lacks, and acknowledges.",
    "reset": "The plan resets the cursor to the first chunk; the broker redelivers no other message.",
    "acknowledge": "The rest of the message is not stored and will not come: the plan acknowledges its entries.",
    "wait": "It may still be arriving, or clients get it when they are opened again: do not acknowledge its entries.",
    "none": "Nothing to do now.",
}

DANGER = (
    "These clients stop there and get nothing that lies behind: read the subscription with another client, or have its "
    "producer send the message again and stop before that entry."
)
"""The same where nothing is stuck yet, but a client would be."""

REPAIRED: frozenset[Need] = frozenset({"export", "reset", "acknowledge"})
"""Needs that the commands of a repair serve without losing anything, and without anybody's decision."""


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What decides about a chunk set: its row in `stalls`, and the publications with its uuid.

    Attributes:
        action: as in `stalls`.
        can_complete: likewise.
        arrives: whether one of the publications may still be arriving.
        unverifiable: whether no export verifies one that is complete, or one is malformed.
        complete: whether one can be rebuilt or has all its chunks.
        doubt: how unsure the loss of the others is, as `terms.DOUBT` numbers it.
    """

    action: str
    can_complete: bool
    arrives: bool
    unverifiable: bool
    complete: bool
    doubt: int


@dataclass(frozen=True)
class NeedCount:
    """Chunk sets of a subscription that need the same.

    Attributes:
        blocks: whether one of them keeps other messages from being delivered.
        doubt: the most of them; see `SetFacts`.
    """

    need: Need
    sets: int
    blocks: bool = False
    doubt: int = 0


@dataclass(frozen=True)
class Advice:
    """What to do about a subscription, the most urgent first.

    Attributes:
        dangers: which clients stop at an entry that it has not acknowledged, such as `go panics at 25:2`.
    """

    needs: tuple[NeedCount, ...] = ()
    dangers: tuple[str, ...] = ()

    @property
    def need(self) -> Need:
        """The most urgent one."""
        return self.needs[0].need if self.needs else "none"

    @property
    def label(self) -> str:
        """All of it in a line."""
        needs = [one for one in self.needs if one.need != "none"]
        if len(needs) == 1:
            parts = [LABELS[needs[0].need]]
        else:
            parts = [f"{LABELS[one.need]} ({counted(one.sets, 'chunk set')})" for one in needs]
        stops = ", ".join(self.dangers)
        if stops and self.need in ("wait", "none"):
            return f"Keep these clients away: {stops}"
        label = "; ".join([*parts[:1], *(f"{part[0].lower()}{part[1:]}" for part in parts[1:])]) or LABELS["none"]
        return f"{label}; {stops}" if stops else label

    @property
    def is_repaired(self) -> bool:
        """Whether commands do all of it."""
        return bool(self.needs) and all(one.need in REPAIRED for one in self.needs)

    @property
    def how(self) -> str:
        """How the most urgent is done, and why so."""
        return DANGER if self.dangers and self.need in ("wait", "none") else HOW[self.need]

    @property
    def sets_to_do(self) -> int:
        """Chunk sets that something must be done or decided about."""
        return sum(one.sets for one in self.needs if one.need not in ("wait", "none"))

    @property
    def accepted(self) -> str:
        """The word for `--accept-unsure` that covers what is unsure."""
        return SURENESSES[max((one.doubt for one in self.needs if one.need == "settle"), default=1)]


def need_of(one: SetFacts) -> Need:
    """What a chunk set needs."""
    if one.action == "none":
        return "none"
    if one.action == "reset_to_first_chunk":
        return "reset"
    arrives = one.arrives or one.action not in get_args(Action)  # of a newer version: nobody knows
    if arrives or (one.action == "wait" and one.can_complete and not one.unverifiable):
        return "wait"
    if one.unverifiable:
        return "keep"
    if one.complete and one.action not in ("acknowledge", "skip"):
        return "export"
    return "settle" if one.doubt else "acknowledge"


def advice_on(needs: Iterable[NeedCount], dangers: Iterable[str] = ()) -> Advice:
    """The advice on a subscription: needs that are the same together, what blocks first."""
    merged: dict[Need, NeedCount] = {}
    for one in needs:
        had = merged.get(one.need, NeedCount(one.need, 0))
        merged[one.need] = NeedCount(one.need, had.sets + one.sets, had.blocks or one.blocks, max(had.doubt, one.doubt))
    order = list(LABELS)
    ordered = sorted(merged.values(), key=lambda one: (not one.blocks, order.index(one.need)))
    return Advice(tuple(ordered), tuple(dangers))
