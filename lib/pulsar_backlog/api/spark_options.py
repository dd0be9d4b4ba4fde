"""Options of the data source as a value that travels to executors; it holds places of credentials, none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from pulsar_backlog.api.choices import (
    ALLOWED_LATENESS_SECONDS,
    MAX_MESSAGE_BYTES,
    Mode,
    Reading,
    Visible,
    checked_visible,
    wanted_of,
)
from pulsar_backlog.api.source_options import SourceKeywords, checked_options
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.messages.masking import masks_of
from pulsar_backlog.options import Options

CHOICES: Mapping[str, tuple[str, ...]] = {
    "rows": ("messages", "entries"),
    "payload": ("inline", "none"),
    "mode": get_args(Mode),
    "transactions": ("committed", "all"),
    "visible": get_args(Visible),
    "chunked": ("true", "false"),
}
"""Options with few values, the default first."""
_TEXTS = (
    "path",
    "topic",
    "since",
    "until",
    "producer",
    "key",
    "allowed_lateness_seconds",
    "max_message_bytes",
    "decode",
    "mask",
    "max_entries_per_batch",
)


@dataclass(frozen=True)
class SparkOptions:
    """What `option` was told.

    Attributes:
        source: where the ledgers are, and how they are reached.
        rows: `messages` or `entries`.
        payload: `inline` or `none`.
        chunked: whether chunked messages are wanted.
        wanted: which rows.
        reading: how messages are read.
        max_entries_per_batch: about how many entries a stream reads at once; None is all that are there.
        decode: by what payloads are decoded, as `Backlog.messages` takes it; empty where they are not.
    """

    source: Options
    rows: str
    payload: str
    chunked: bool
    wanted: Wanted
    reading: Reading
    decode: str
    max_entries_per_batch: int | None

    @property
    def mode(self) -> Mode:
        """What becomes of what is broken."""
        return self.reading.mode

    @classmethod
    def of(cls, given: Mapping[str, str]) -> SparkOptions:
        """The options, checked.

        Raises:
            UsageError: one is unknown or wrong, or no path is given.
        """
        options = {name.lower(): value for name, value in given.items()}
        if not options.get("path"):
            raise UsageError("no source is named: .load(SOURCE), or OPTIONS (path 'SOURCE')")
        chosen = {name: _choice(name, options.get(name)) for name in CHOICES}
        names = SourceKeywords.__annotations__.keys()
        unknown = options.keys() - names - CHOICES.keys() - set(_TEXTS)
        if unknown:
            listed = ", ".join(sorted({*names, *CHOICES, *_TEXTS}))
            raise UsageError(f"there is no option {', '.join(sorted(unknown))}; there are {listed}")
        source = checked_options(options["path"], {name: options[name] for name in names if name in options})
        several = [() if options.get(name) is None else options[name] for name in ("topic", "producer", "key")]
        lateness = options.get("allowed_lateness_seconds", str(ALLOWED_LATENESS_SECONDS))
        wanted = wanted_of(
            several[0], since=options.get("since"), until=options.get("until"), producer=several[1], key=several[2],
            allowed_lateness_seconds=_number("allowed_lateness_seconds", lateness, least=0),
        )  # fmt: skip
        reading = Reading(
            mode=chosen["mode"],  # type: ignore[arg-type]  # one of them, as `_choice` has seen
            visible=checked_visible(chosen["visible"], chosen["transactions"]),  # type: ignore[arg-type]
            max_message_bytes=_number("max_message_bytes", options.get("max_message_bytes", str(MAX_MESSAGE_BYTES))),
            chunked=chosen["chunked"] == "true",
            masks=masks_of(filter(None, options.get("mask", "").split(","))),
        )
        decode = options.get("decode", "")
        if chosen["rows"] == "entries" and (decode or reading.masks):
            raise UsageError("decode and mask are for rows=messages")
        most = options.get("max_entries_per_batch")
        limit = None if most is None else _number("max_entries_per_batch", most)
        return cls(source, chosen["rows"], chosen["payload"], reading.chunked, wanted, reading, decode, limit)


def _choice(name: str, value: str | None) -> str:
    choices = CHOICES[name]
    text = (value or choices[0]).lower()
    if name == "mode" and value is None:
        return "permissive"
    if text not in choices:
        raise UsageError(f"{name} {value!r} is none of {', '.join(choices)}")
    return text


def _number(name: str, text: str, least: int = 1) -> int:
    if not text.isdecimal() or int(text) < least:
        raise UsageError(f"{name} {text!r} is no whole number of at least {least}")
    return int(text)
