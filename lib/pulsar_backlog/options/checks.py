"""What the text of an option may say, checked before anything runs."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field


def as_tuple(value: object) -> object:
    """A single value as one of several."""
    return value if isinstance(value, list | tuple) else (value,)


def _without_credentials(uri: str) -> str:
    parts = urlsplit(uri)
    is_container = parts.scheme == "abfss"  # CONTAINER@ACCOUNT.dfs.core.windows.net
    if (parts.username is not None and not is_container) or parts.password is not None:
        raise ValueError("must not hold credentials: these come from environment, profile or connection")
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
        raise ValueError(f"{text!r} is not a percentage such as 10%")
    return float(match[1])


def _percent(text: str) -> str:
    parse_percent(text)
    return text


def _finding_code(text: str) -> str:
    from pulsar_backlog.findings import CATALOGUE  # noqa: PLC0415 - every command waits for this module, few for codes

    if text not in CATALOGUE:
        raise ValueError(f"{text!r} is not the code of a finding: see docs/findings.md")
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


def _model_name(text: str) -> str:
    from pulsar_backlog.chunks.clients.models import parse_model  # noqa: PLC0415 - help waits for this module

    try:
        parse_model(text)
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None
    return text


Service = Annotated[str, AfterValidator(_service)]
Instant = Annotated[str, BeforeValidator(_instant)]
LedgerRange = Annotated[str, BeforeValidator(_ledger_range)]
ModelName = Annotated[str, AfterValidator(_model_name)]
Percent = Annotated[str, AfterValidator(_percent)]
Duration = Annotated[str, AfterValidator(_duration)]
FindingCode = Annotated[str, AfterValidator(_finding_code)]
RepublishTo = Annotated[str, AfterValidator(_republish_to)]
MessageId = Annotated[str, Field(pattern=r"^\d{1,18}:\d{1,18}$")]
MessageState = Literal["single", "batch", "whole", "out_of_order", "malformed"]
Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
Count = Annotated[int, Field(ge=1)]
