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
        Words("only what findings of this code are about, such as C25; may be repeated"),
    ] = None
    severity: Annotated[
        Literal["error", "warning", "info"] | None,
        Words("only what findings of this severity or worse are about: error, warning or info"),
    ] = None
    min_age: Annotated[
        Duration | None,
        Words("only messages this much older than the newest entry of the audit, such as 90s, 30m, 2h, 7d"),
    ] = None
    max_count: Annotated[Count | None, Words("actions at most; advice is not counted")] = None
    max_bytes: Annotated[
        Annotated[int, Field(ge=0)] | None, Words("payload bytes at most that the actions concern together")
    ] = None
    republish_to: Annotated[
        RepublishTo | None,
        Words(
            "same (the topic it lies in), file (kept beside the plan, not published), or a full topic name",
            default="same",
        ),
    ] = None
    accept_unsure: Annotated[
        Literal["likely", "cannot_tell"] | None,
        Words("acknowledge also what is only likely (or cannot_tell) lost for good"),
    ] = None
    exported: Annotated[
        str | None,
        Words("folder of the export that holds the messages; default: that of the tables", place=True),
    ] = None
    earlier: Annotated[
        str | None,
        Words(
            "folder of an earlier audit: acknowledgements that it knows and that are lost now are made again",
            place=True,
        ),
    ] = None
    as_stored: Annotated[
        bool | None,
        Words("publish encrypted messages as they are stored, unseen and for the same keys; no key is needed"),
    ] = None
    message: Annotated[
        Annotated[tuple[MessageId, ...], BeforeValidator(as_tuple)] | None,
        Words("republish this message (LEDGER:ENTRY; chunked, or encrypted with --as-stored); may be repeated"),
    ] = None
