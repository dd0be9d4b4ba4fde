"""Options of jobs and commands: their names, types and words, stated once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings import CATALOGUE

_EVERY_JOB = ("out", "cluster", "fail_on", "exit_zero_when_unchanged")
_WITH_SOURCE = ("source", "endpoint", "admin", "topic", "ledger", "since", "until", *_EVERY_JOB)

JOB_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "inventory_ledgers": _WITH_SOURCE,
    "scan_entries": _WITH_SOURCE,
    "assemble_chunks": (*_WITH_SOURCE, "grace_seconds"),
    "model_consumers": ("model", *_EVERY_JOB),
    "analyze_subscriptions": ("admin", "max_ack_ranges", "max_batch_acks", *_EVERY_JOB),
    "export_messages": (
        "source",
        "endpoint",
        "topic",
        "since",
        "until",
        "producer",
        "key",
        "state",
        "transactions",
        "private_keys",
        "private_keys_command",
        "to",
        "format",
        "inline_limit_bytes",
        "max_message_bytes",
        *_EVERY_JOB,
    ),
    "plan_repair": (
        "topic",
        "subscription",
        "code",
        "severity",
        "min_age",
        "max_count",
        "max_bytes",
        "model",
        "republish_to",
        "accept_unsure",
        "exported",
        "earlier",
        "as_stored",
        "message",
        *_EVERY_JOB,
    ),
    "check_quality": _EVERY_JOB,
    "write_report": _EVERY_JOB,
}
"""Every job in the order of the data's way, with the options it takes, in the order they are written."""

HELP: dict[str, str] = {
    "source": "folder or s3://bucket[/prefix] that holds the offloaded ledgers",
    "endpoint": "S3 endpoint, where it is not AWS",
    "admin": "folder of saved admin JSON (stats-internal, info-internal, stats) and raw cursor state",
    "topic": "only topics that match this glob; may be repeated",
    "ledger": "only this ledger id or range A-B; may be repeated",
    "since": "only ledgers that may hold messages from this time on (ISO 8601, UTC)",
    "until": "only ledgers that may hold messages before this time (ISO 8601, UTC)",
    "out": "folder of tables and reports",
    "cluster": "name of the Pulsar cluster in the tables",
    "fail_on": "lowest severity of findings that makes the exit code 1: error, warning or never",
    "exit_zero_when_unchanged": "exit 0 instead of 99 when there was nothing new to do",
    "grace_seconds": "how near the end of the log an incomplete message may still be arriving",
    "model": "client to model, such as java or python:max_pending=50,live, see docs/clients.md; may be repeated",
    "max_ack_ranges": "the broker's managedLedgerMaxUnackedRangesToPersist, for predictions; default 10000",
    "max_batch_acks": "the broker's managedLedgerMaxBatchDeletedIndexToPersist, for predictions; default 10000",
    "producer": "only messages of this producer; may be repeated",
    "key": "only messages with this key; may be repeated",
    "state": "only messages in this state: single, batch, whole, out_of_order, malformed; may be repeated",
    "transactions": "committed, or all: also messages of aborted and open transactions",
    "private_keys": "PEM file of a private key, or folder of such files (NAME.pem for the key name NAME)",
    "private_keys_command": "command that writes private keys in PEM to its standard output; run without a shell",
    "to": "folder that gets the messages; default: that of the tables",
    "format": "delta (table messages), parquet (messages.parquet) or files (each payload a file, messages.jsonl)",
    "subscription": "only subscriptions that match this glob; may be repeated",
    "code": "only what findings of this code are about, such as C25; may be repeated",
    "severity": "only what findings of this severity or worse are about: error, warning or info",
    "min_age": "only messages this much older than the newest entry of the audit, such as 90s, 30m, 2h, 7d",
    "max_count": "actions at most; advice is not counted",
    "max_bytes": "payload bytes at most that the actions concern together",
    "republish_to": "same (the topic it lies in), file (kept beside the plan, not published), or a full topic name",
    "accept_unsure": "acknowledge also what is only likely (or cannot_tell) lost for good",
    "exported": "folder of the export that holds the messages; default: that of the tables",
    "as_stored": "publish encrypted messages as they are stored, unseen and for the same keys; no key is needed",
    "message": "publish this message (LEDGER:ENTRY; chunked, or encrypted with --as-stored) once more; may be repeated",
    "earlier": "folder of an earlier audit: acknowledgements that it knows and that are lost now are made again",
    "max_message_bytes": "largest message that is exported; one that says or turns out to be larger has no payload",
    "inline_limit_bytes": "largest payload that stands in the row; larger ones become files named by their SHA-256",
}
"""What each option says of itself, on every command line."""

REQUIRED = ("source", "out")
"""Options without which no job that takes them can run."""


def _as_tuple(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


def _without_credentials(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold credentials; they come from environment, profile or connection")
    return uri


def _ledger_range(value: object) -> str:
    text = str(value)
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None or (match[2] is not None and int(match[1]) > int(match[2])):
        raise ValueError(f"{text!r} is not a ledger id or a range of ids such as 12-20")
    return text


def _instant(value: object) -> str:
    """ISO 8601 text of a time; YAML reads unquoted times as dates already."""
    text = value.isoformat() if isinstance(value, date) else str(value)
    try:
        parse_instant(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an ISO 8601 time such as 2026-11-21T10:00:00Z") from None
    return text


def parse_instant(text: str) -> datetime:
    """The instant that ISO 8601 text names; UTC where it names no zone."""
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def parse_duration_ms(text: str) -> int:
    """Milliseconds that a text such as `90s` or `7d` names.

    Raises:
        ValueError: it names none.
    """
    match = re.fullmatch(r"(\d{1,9})(ms|s|m|h|d)", text, re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not an age such as 90s, 30m, 2h or 7d")
    return int(match[1]) * {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}[match[2]]


def _duration(text: str) -> str:
    parse_duration_ms(text)
    return text


def _finding_code(text: str) -> str:
    if text not in CATALOGUE:
        raise ValueError(f"{text!r} is no code of a finding: see docs/findings.md")
    return text


def _republish_to(text: str) -> str:
    if text not in ("same", "file") and not re.fullmatch(r"persistent://[^/]+/[^/]+/.+", text):
        raise ValueError(f"{text!r} is neither same, file nor a topic such as persistent://tenant/namespace/name")
    return text


Uri = Annotated[str, AfterValidator(_without_credentials)]
Instant = Annotated[str, BeforeValidator(_instant)]
LedgerRange = Annotated[str, BeforeValidator(_ledger_range)]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+(:[a-z_]+(=[^,]+)?(,[a-z_]+(=[^,]+)?)*)?$")]
Duration = Annotated[str, AfterValidator(_duration)]
FindingCode = Annotated[str, AfterValidator(_finding_code)]
RepublishTo = Annotated[str, AfterValidator(_republish_to)]
MessageId = Annotated[str, Field(pattern=r"^\d{1,18}:\d{1,18}$")]
MessageState = Literal["single", "batch", "whole", "out_of_order", "malformed"]


class Frozen(BaseModel):
    """A value of configuration: cannot be changed, and refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Options(Frozen):
    """Options of jobs; None means that this layer does not set it.

    Attributes:
        source: folder or `s3://bucket[/prefix]` that holds the offloaded ledgers.
        endpoint: S3 endpoint, where it is not AWS.
        admin: folder of saved admin JSON.
        topic: globs on full topic names; any may match.
        ledger: ledger ids or inclusive ranges `A-B`; any may match.
        since: first instant, inclusive, ISO 8601, UTC unless it names a zone.
        until: first instant after the end, exclusive.
        out: folder of tables and reports.
        cluster: name of the Pulsar cluster; tables of several clusters may lie in one `out`.
        fail_on: lowest severity of findings that makes the exit code 1.
        exit_zero_when_unchanged: exit 0 instead of 99 when there was nothing new to do.
        grace_seconds: how near the end of the log an incomplete message still counts as in flight.
        model: consumer models by their written names.
        max_ack_ranges: the broker's managedLedgerMaxUnackedRangesToPersist; None is its default.
        max_batch_acks: the broker's managedLedgerMaxBatchDeletedIndexToPersist; None is its default.
        producer: producer names; any may match.
        key: message keys as text; any may match.
        state: states of messages; any may match.
        transactions: whether messages of aborted and open transactions are exported too.
        private_keys: file or folder of private keys; only the place stands here.
        private_keys_command: command that yields private keys.
        to: folder that gets exported messages; None is `out`.
        format: how they are written.
        inline_limit_bytes: largest payload that stands in its row.
        max_message_bytes: largest payload that is exported.
        subscription: globs on names of subscriptions; any may match.
        code: codes of findings; any may match.
        severity: lowest severity of findings.
        min_age: least age, as a number and a unit.
        max_count: actions of a plan at most.
        max_bytes: payload bytes of a plan at most.
        republish_to: `same`, `file` or the full name of a topic.
        accept_unsure: how unsure it may be that a message is lost for good.
        exported: folder of an export; None is `out`.
        earlier: folder of an earlier audit.
        as_stored: whether encrypted messages are published as they are stored.
        message: positions of messages that are published once more.
    """

    source: Uri | None = None
    endpoint: Uri | None = None
    admin: str | None = None
    topic: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] | None = None
    ledger: Annotated[tuple[LedgerRange, ...], BeforeValidator(_as_tuple)] | None = None
    since: Instant | None = None
    until: Instant | None = None
    out: Uri | None = None
    cluster: Annotated[str, Field(min_length=1)] | None = None
    fail_on: Literal["error", "warning", "never"] | None = None
    exit_zero_when_unchanged: bool | None = None
    grace_seconds: Annotated[int, Field(ge=0)] | None = None
    model: Annotated[tuple[ModelName, ...], BeforeValidator(_as_tuple)] | None = None
    max_ack_ranges: Annotated[int, Field(ge=1)] | None = None
    max_batch_acks: Annotated[int, Field(ge=1)] | None = None
    producer: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] | None = None
    key: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] | None = None
    state: Annotated[tuple[MessageState, ...], BeforeValidator(_as_tuple)] | None = None
    transactions: Literal["committed", "all"] | None = None
    private_keys: str | None = None
    private_keys_command: str | None = None
    to: Uri | None = None
    format: Literal["delta", "parquet", "files"] | None = None
    inline_limit_bytes: Annotated[int, Field(ge=0, le=64 * 1024 * 1024)] | None = None
    max_message_bytes: Annotated[int, Field(ge=1)] | None = None
    subscription: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] | None = None
    code: Annotated[tuple[FindingCode, ...], BeforeValidator(_as_tuple)] | None = None
    severity: Literal["error", "warning", "info"] | None = None
    min_age: Duration | None = None
    max_count: Annotated[int, Field(ge=1)] | None = None
    max_bytes: Annotated[int, Field(ge=0)] | None = None
    republish_to: RepublishTo | None = None
    accept_unsure: Literal["likely", "cannot_tell"] | None = None
    exported: str | None = None
    earlier: str | None = None
    as_stored: bool | None = None
    message: Annotated[tuple[MessageId, ...], BeforeValidator(_as_tuple)] | None = None

    def over(self, below: Options) -> Options:
        """These options where they are set, those of the layer below where not."""
        return below.model_copy(update=self.model_dump(exclude_none=True))


def in_time_order(options: Options) -> Options:
    """The same options.

    Raises:
        UsageError: `since` is not before `until`.
    """
    if options.since and options.until and parse_instant(options.since) >= parse_instant(options.until):
        raise UsageError(f"--since {options.since} is not before --until {options.until}: swap them")
    return options


def given_options(given: Mapping[str, object]) -> Options:
    """Options as a caller gives them, by name.

    Raises:
        UsageError: a name or value is wrong; the message names the flag.
    """
    try:
        return Options.model_validate(dict(given))
    except ValidationError as error:
        faults = [f"--{keys[0].replace('_', '-')}: {words}" for keys, words in faults_of(error)]
        raise UsageError("; ".join(faults)) from error


def faults_of(error: ValidationError) -> list[tuple[list[str], str]]:
    """Where in the document each mistake is, and what is wrong."""
    words = {"extra_forbidden": "unknown key", "missing": "missing"}
    return [
        (
            [str(part) for part in fault["loc"]],
            words.get(fault["type"], fault["msg"].removeprefix("Value error, ")),
        )
        for fault in error.errors()
    ]
