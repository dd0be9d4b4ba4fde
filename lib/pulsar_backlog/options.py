"""Options of jobs and commands: their names, types and words, stated once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pulsar_backlog.errors import UsageError

_EVERY_JOB = ("out", "cluster", "fail_on", "exit_zero_when_unchanged")
_LIVE = (
    "live", "admin_url", "max_rate", "token_file", "ca_file", "cert_file", "key_file", "timeout_seconds",
    "token_without_tls", "broker_host",
)  # fmt: skip
_SOURCE = (
    "source", "endpoint", "store_attempts", "store_timeout_seconds", "store_range_bytes", "store_concurrency", *_LIVE,
)  # fmt: skip
_WITH_SOURCE = (*_SOURCE, "admin", "topic", "ledger", "since", "until", *_EVERY_JOB)

JOB_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "inventory_ledgers": _WITH_SOURCE,
    "scan_entries": (*_WITH_SOURCE, "budget_bytes", "sample", "limit"),
    "assemble_chunks": (*_WITH_SOURCE, "grace_seconds"),
    "model_consumers": ("model", *_EVERY_JOB),
    "analyze_subscriptions": ("admin", "max_ack_ranges", "max_batch_acks", *_EVERY_JOB),
    "export_messages": (
        *_SOURCE,
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


def _as_tuple(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


def _without_credentials(uri: str) -> str:
    parts = urlsplit(uri)
    is_container = parts.scheme == "abfss"  # CONTAINER@ACCOUNT.dfs.core.windows.net
    if (parts.username is not None and not is_container) or parts.password is not None:
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


def parse_percent(text: str) -> float:
    """The number of a text such as `10%`.

    Raises:
        ValueError: it is none, or not more than 0 and at most 100.
    """
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)%?", text, re.ASCII)
    if match is None or not 0 < float(match[1]) <= 100:
        raise ValueError(f"{text!r} is no percentage such as 10%")
    return float(match[1])


def _percent(text: str) -> str:
    parse_percent(text)
    return text


def _finding_code(text: str) -> str:
    from pulsar_backlog.findings import CATALOGUE  # noqa: PLC0415 - every command waits for this module, few for codes

    if text not in CATALOGUE:
        raise ValueError(f"{text!r} is no code of a finding: see docs/findings.md")
    return text


def _republish_to(text: str) -> str:
    if text not in ("same", "file") and not re.fullmatch(r"persistent://[^/]+/[^/]+/.+", text):
        raise ValueError(f"{text!r} is neither same, file nor a topic such as persistent://tenant/namespace/name")
    return text


def _service(text: str) -> str:
    if not text.startswith(("pulsar://", "pulsar+ssl://")):
        raise ValueError(f"{text!r} is not pulsar://host:port or pulsar+ssl://host:port")
    return _without_credentials(text)


Uri = Annotated[str, AfterValidator(_without_credentials)]
Service = Annotated[str, AfterValidator(_service)]
Instant = Annotated[str, BeforeValidator(_instant)]
LedgerRange = Annotated[str, BeforeValidator(_ledger_range)]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+(:[a-z_]+(=[^,]+)?(,[a-z_]+(=[^,]+)?)*)?$")]
Percent = Annotated[str, AfterValidator(_percent)]
Duration = Annotated[str, AfterValidator(_duration)]
FindingCode = Annotated[str, AfterValidator(_finding_code)]
RepublishTo = Annotated[str, AfterValidator(_republish_to)]
MessageId = Annotated[str, Field(pattern=r"^\d{1,18}:\d{1,18}$")]
MessageState = Literal["single", "batch", "whole", "out_of_order", "malformed"]


class Frozen(BaseModel):
    """A value of configuration: cannot be changed, and refuses keys it does not know."""

    # Built when first checked: help and mistakes of the command line need no checks, and answer at once.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True)
class Words:
    """What an option says of itself on every command line.

    Attributes:
        help: one clause.
        default: what a job takes where no layer sets it; None means that it does without.
        place: whether it is a folder or an address; a folder is made absolute.
        required: whether no job that takes it can run without.
    """

    help: str
    default: str | int | None = None
    place: bool = False
    required: bool = False


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Count = Annotated[int, Field(ge=1)]


class Options(Frozen):
    """Options of jobs; None means that this layer does not set it. Type, check, default and help of each stand here."""

    source: Annotated[
        Uri | None,
        Words(
            "folder, s3://, gs://, az:// or abfss:// bucket that holds the offloaded ledgers, or pulsar:// brokers",
            place=True,
            required=True,
        ),
    ] = None
    endpoint: Annotated[Uri | None, Words("address of the bucket's service, where it is not the cloud's own")] = None
    store_attempts: Annotated[
        Count | None, Words("tries of one request that a bucket throttles, fails, cuts or delays; default 10")
    ] = None
    store_timeout_seconds: Annotated[Count | None, Words("how long one request to a bucket may take; default 120")] = (
        None
    )
    store_range_bytes: Annotated[Count | None, Words("bytes of one request to a bucket at most; default 8388608")] = (
        None
    )
    store_concurrency: Annotated[
        Count | None, Words("requests of one process to a bucket under way at once; default 16")
    ] = None
    live: Annotated[
        Service | None, Words("brokers, such as pulsar://broker:6650, that read what the source does not hold")
    ] = None
    admin_url: Annotated[
        Uri | None, Words("web service of a broker, such as http://broker:8080, to read live topics")
    ] = None
    max_rate: Annotated[Count | None, Words("bytes a second that are read from brokers at most; default 10485760")] = (
        None
    )
    token_file: Annotated[
        str | None,
        Words("file that holds the token for brokers; without it PULSAR_BACKLOG_TOKEN counts", place=True),
    ] = None
    ca_file: Annotated[str | None, Words("certificates (PEM) that those of brokers must descend from", place=True)] = (
        None
    )
    cert_file: Annotated[str | None, Words("our certificate (PEM) for brokers", place=True)] = None
    key_file: Annotated[str | None, Words("key (PEM) of --cert-file", place=True)] = None
    timeout_seconds: Annotated[Count | None, Words("how long one answer of a broker may take; default 30")] = None
    token_without_tls: Annotated[
        bool | None, Words("send the token also where it can be read on the way (http://, pulsar://)")
    ] = None
    broker_host: Annotated[
        Texts | None, Words("host (glob) that is a broker of the cluster though it does not list it; may be repeated")
    ] = None
    admin: Annotated[
        str | None,
        BeforeValidator(lambda text: text or None),  # an Airflow variable that is not set
        Words("folder of saved admin JSON (stats-internal, info-internal, stats) and raw cursor state", place=True),
    ] = None
    topic: Annotated[Texts | None, Words("only topics that match this glob; may be repeated")] = None
    ledger: Annotated[
        Annotated[tuple[LedgerRange, ...], BeforeValidator(_as_tuple)] | None,
        Words("only this ledger id or range A-B (inclusive); may be repeated"),
    ] = None
    since: Annotated[Instant | None, Words("only ledgers that may hold messages from this time on (ISO 8601, UTC)")] = (
        None
    )
    until: Annotated[Instant | None, Words("only ledgers that may hold messages before this time (ISO 8601, UTC)")] = (
        None
    )
    out: Annotated[
        Uri | None, Words("folder of tables and reports, or s3a://, gs://, abfss:// bucket", place=True, required=True)
    ] = None
    cluster: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        Words("name of the Pulsar cluster in the tables", default="default"),
    ] = None
    fail_on: Annotated[
        Literal["error", "warning", "never"] | None,
        Words("lowest severity of findings that makes the exit code 1: error, warning or never", default="error"),
    ] = None
    exit_zero_when_unchanged: Annotated[bool | None, Words("exit 0 instead of 99 when there was nothing new to do")] = (
        None
    )
    grace_seconds: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Words("how near the end of the log an incomplete message may still be arriving", default=120),
    ] = None
    model: Annotated[
        Annotated[tuple[ModelName, ...], BeforeValidator(_as_tuple)] | None,
        Words("client to model, such as java or python:max_pending=50,live, see docs/clients.md; may be repeated"),
    ] = None
    budget_bytes: Annotated[
        Count | None, Words("bytes of data objects that this run reads at most, the newest ledgers first")
    ] = None
    sample: Annotated[
        Percent | None, Words("percentage of each topic's bytes that is read, such as 10; the newest ledgers first")
    ] = None
    limit: Annotated[Count | None, Words("ledgers that this run reads at most, the newest first")] = None
    max_ack_ranges: Annotated[
        Count | None, Words("the broker's managedLedgerMaxUnackedRangesToPersist, for predictions; default 10000")
    ] = None
    max_batch_acks: Annotated[
        Count | None, Words("the broker's managedLedgerMaxBatchDeletedIndexToPersist, for predictions; default 10000")
    ] = None
    producer: Annotated[Texts | None, Words("only messages of this producer; may be repeated")] = None
    key: Annotated[Texts | None, Words("only messages with this key; may be repeated")] = None
    state: Annotated[
        Annotated[tuple[MessageState, ...], BeforeValidator(_as_tuple)] | None,
        Words(
            "only messages in this state: single, batch, whole, out_of_order, malformed; may be repeated",
        ),
    ] = None
    transactions: Annotated[
        Literal["committed", "all"] | None,
        Words("committed, or all: also messages of aborted and open transactions", default="committed"),
    ] = None
    private_keys: Annotated[
        str | None,
        Words("PEM file of a private key, or folder of such files (NAME.pem for the key name NAME)", place=True),
    ] = None
    private_keys_command: Annotated[
        str | None, Words("command that writes private keys in PEM to its standard output; run without a shell")
    ] = None
    to: Annotated[Uri | None, Words("folder that gets the messages; default: that of the tables", place=True)] = None
    format: Annotated[
        Literal["delta", "parquet", "files"] | None,
        Words(
            "delta (table messages), parquet (messages.parquet) or files (each payload a file, messages.jsonl)",
            default="delta",
        ),
    ] = None
    inline_limit_bytes: Annotated[
        Annotated[int, Field(ge=0, le=64 * 1024 * 1024)] | None,
        Words(
            "largest payload that stands in the row; larger ones become files named by their SHA-256", default=262144
        ),
    ] = None
    max_message_bytes: Annotated[
        Count | None,
        Words(
            "largest message that is exported; one that says or turns out to be larger has no payload", default=1 << 30
        ),
    ] = None
    subscription: Annotated[Texts | None, Words("only subscriptions that match this glob; may be repeated")] = None
    code: Annotated[
        Annotated[tuple[FindingCode, ...], BeforeValidator(_as_tuple)] | None,
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
        Annotated[tuple[MessageId, ...], BeforeValidator(_as_tuple)] | None,
        Words("republish this message (LEDGER:ENTRY; chunked, or encrypted with --as-stored); may be repeated"),
    ] = None

    def over(self, below: Options) -> Options:
        """These options where they are set, those of the layer below where not."""
        return below.model_copy(update=self.model_dump(exclude_none=True))


@dataclass(frozen=True)
class Declared:
    """An option as command lines need it, taken from its field of `Options`.

    Attributes:
        name: as in Python and pipelines.yaml.
        words: what it says of itself.
        kind: what one value is: `str`, `int`, or `bool` for a switch.
        repeated: whether it may be given more than once.
        choices: its values, where they are few.
    """

    name: str
    words: Words
    kind: type
    repeated: bool
    choices: tuple[str, ...]

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name.replace('_', '-')}"


def _declared(name: str) -> Declared:
    field = Options.model_fields[name]
    words = next(found for found in field.metadata if isinstance(found, Words))
    parts = set(_types_in(field.annotation))
    kind = bool if bool in parts else int if int in parts else str
    choices = tuple(part for part in parts if isinstance(part, str))
    return Declared(name, words, kind, tuple in parts, tuple(sorted(choices)))


def _types_in(annotation: object) -> Iterator[object]:
    """The types an annotation is made of, containers included, and the values of a `Literal`."""
    yield get_origin(annotation) or annotation
    for inner in get_args(annotation):
        yield from _types_in(inner)


OPTIONS: Mapping[str, Declared] = {name: _declared(name) for name in Options.model_fields}
"""Every option, by name."""


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
