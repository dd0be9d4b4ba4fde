"""What a repair plan may contain."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pulsar_backlog.options.checks import Count, Duration, FindingCode, MessageId, RepublishTo, Texts, as_tuple
from pulsar_backlog.options.words import Frozen, Words


class RepairOptions(Frozen):
    """What a repair plan may contain."""

    subscription: Annotated[Texts | None, Words("only subscriptions that match this glob; may be repeated")] = None
    code: Annotated[
        Annotated[tuple[FindingCode, ...], BeforeValidator(as_tuple)] | None,
        Words("only what findings with this code name, such as C25; may be repeated"),
    ] = None
    severity: Annotated[
        Literal["error", "warning", "info"] | None,
        Words("only what findings of this severity or worse name: error, warning or info"),
    ] = None
    min_age: Annotated[
        Duration | None,
        Words("only messages this much older than the newest entry of the audit, such as 90s, 30m, 2h, 7d"),
    ] = None
    max_count: Annotated[Count | None, Words("most actions of the plan, not counting advice")] = None
    max_bytes: Annotated[Annotated[int, Field(ge=0)] | None, Words("most payload bytes of all actions together")] = None
    republish_to: Annotated[
        RepublishTo | None,
        Words(
            "same (the message's own topic), file (keep it beside the plan, publish nothing), or a full topic name",
            default="same",
        ),
    ] = None
    accept_unsure: Annotated[
        Literal["likely", "cannot_tell"] | None,
        Words("acknowledge also what is lost for good only as likely (or cannot_tell)"),
    ] = None
    give_up: Annotated[
        Annotated[tuple[MessageId, ...], BeforeValidator(as_tuple)] | None,
        Words(
            "acknowledge the chunk set with this unacknowledged entry (LEDGER:ENTRY) although no export could verify "
            "its message, which is lost then: copy its objects first; may be repeated"
        ),
    ] = None
    exported: Annotated[
        str | None,
        Words("folder of the export that holds the messages; default: that of the tables", place=True),
    ] = None
    earlier: Annotated[
        str | None,
        Words(
            "folder of an earlier audit: make acknowledgements again that it knows and that are lost now",
            place=True,
        ),
    ] = None
    as_stored: Annotated[
        bool | None,
        Words("republish encrypted messages as stored, unseen and for the same keys; needs no key"),
    ] = None
    message: Annotated[
        Annotated[tuple[MessageId, ...], BeforeValidator(as_tuple)] | None,
        Words("republish this message (LEDGER:ENTRY; chunked, or encrypted with --as-stored); may be repeated"),
    ] = None
    cut_off: Annotated[
        Literal["own", "new"] | None,
        Words(
            "republish messages that were confirmed and lie behind the recorded end of their ledger, in order: own "
            "(under their producer's name and sequence ids, which must have stopped for good) or new (by a producer of "
            "the plan; properties name the original's)"
        ),
    ] = None
