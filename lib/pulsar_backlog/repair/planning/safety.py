"""What may be acknowledged. Everything else about a plan may be wrong and cost time; this would cost messages.

An entry may be acknowledged when

1. it belongs to one publication of a chunked message, its own checksum agrees, and no other message is in it;
2. no publication with its uuid may still be arriving;
3. each publication with its uuid either was exported and the export verified, or is for certain incomplete for ever.

A message that is whole must have been exported, whatever the clients make of it. Being unsure is accepted in (3) only
where the user says so, and never in (2), nor of what is whole or can be rebuilt. Where an export tried, and no other
key, limit or place would verify the message, or its chunk fields are invalid, the user may give it up by an entry.
"""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.messages.kinds import UNDECIDED
from pulsar_backlog.repair.planning.values import Choices, Entry, Exported, PublicationFacts, StallFacts
from pulsar_backlog.terms import COMPLETE, DOUBT, INCOMPLETE, Position

_ROLES = frozenset({"used", "duplicate", "residue", "orphan", "conflicting"})

_HOPELESS = frozenset({"exported", "wrong_size", "undecodable", "corrupt", "undecryptable"})
"""Outcomes of exports that no other key, limit or store would better; `exported` with a doubt that stays."""

NOT_EXPORTED = "it can be rebuilt, and is not exported and verified"
UNVERIFIED = "its export could not be verified: "
UNSURE = "its loss is not certain "
IN_FLIGHT = "a message with its uuid may still be arriving"
MALFORMED = "its chunk fields are invalid, so nobody can tell what clients do with it"


def why_not_family(family: Sequence[PublicationFacts], choices: Choices, *, given_up: bool = False) -> str | None:
    """What speaks against acknowledging entries of a uuid; None when nothing does.

    Args:
        family: all publications with the uuid.
        choices: how unsure it may be.
        given_up: whether the user gives up what no export verifies.
    """
    if not family:
        return "the tables do not say which message it belongs to"
    if any(one.state == "in_flight" for one in family):
        return IN_FLIGHT
    return next((why for one in family if (why := _why_not(one, choices, given_up)) is not None), None)


def is_given_up(stall: StallFacts, choices: Choices) -> bool:
    """Whether the user names one of its entries to give it up."""
    return any(entry.position in choices.give_up for entry in stall.entries)


def why_not_entry(entry: Entry, stall: StallFacts, *, given_up: bool = False) -> str | None:
    """What speaks against acknowledging one entry of a stall; None when nothing does.

    Of what the user gives up, the other messages of a batch are given up too.
    """
    if entry.owner != stall.key or entry.role not in _ROLES:
        return "the tables do not agree on the message it belongs to"
    if entry.holds_more and not given_up:
        return "it is a batch and holds other messages too"
    if not entry.is_sound:
        return "its checksum does not match or is missing, so its own fields cannot be trusted"
    return None


def acknowledgeable(stall: StallFacts, family: Sequence[PublicationFacts], choices: Choices) -> tuple[Position, ...]:
    """The entries of a stall that may be acknowledged, in order."""
    why_not = why_not_family(family, choices, given_up=is_given_up(stall, choices))
    if why_not is not None or not any(one.key == stall.key for one in family):
        return ()
    given_up = is_given_up(stall, choices)
    free = (entry for entry in stall.entries if why_not_entry(entry, stall, given_up=given_up) is None)
    return tuple(sorted({entry.position for entry in free}))


def is_kept(exported: Exported | None) -> bool:
    """Whether a message cannot get lost any more, because its payload lies verified in an export.

    A message of a transaction that is open, or may be, is still to be delivered when that commits.
    """
    return exported is not None and exported.verified and exported.transaction not in UNDECIDED


def _why_not(one: PublicationFacts, choices: Choices, given_up: bool) -> str | None:
    if is_kept(one.exported):
        return None
    if one.rebuildable or one.state in COMPLETE:
        if one.exported is not None and not one.exported.verified:
            hopeless = one.exported.outcome in _HOPELESS and one.exported.transaction != "open"
            return None if given_up and hopeless else f"{UNVERIFIED}{one.exported.reason}"
        if one.exported is not None:
            return "it belongs to a transaction that is open, or may be"
        return NOT_EXPORTED
    if one.state not in INCOMPLETE:
        return None if given_up else MALFORMED
    # A word of a newer version is never sure enough.
    if DOUBT.get(one.sureness, len(DOUBT)) > DOUBT[choices.accept_unsure or "certain"]:
        return f"{UNSURE}({one.sureness}): {one.reason}"
    return None
