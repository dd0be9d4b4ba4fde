"""Models by their written names: `java`, `python:max_pending=50,live`, `J-OLD:shared`.

    NAME[:SETTING,...]        NAME: java, cpp, python, node, go, sql (the releases of today), or a profile
    max_pending=N             auto_ack             expiry_seconds=N        ack_timeout_seconds=N
    receiver_queue=N          shared               live                    acks_headless
    start=LEDGER:ENTRY        reconnect_after=LEDGER:ENTRY[+LEDGER:ENTRY...]        restart_after=LEDGER:ENTRY[+...]

The written name is the model's name in the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

from pulsar_backlog.chunks.clients.settings import ClientSettings, Profile
from pulsar_backlog.terms import Position

CURRENT: dict[str, Profile] = {
    "java": "J-NEW",
    "cpp": "C-OLD",
    "python": "C-OLD",
    "node": "C-OLD",
    "go": "G-NEW",
    "sql": "SQL",
}
"""What the latest release of each client behaves like."""

DEFAULT_MODELS = ("java", "python", "go")


def parse_model(text: str) -> ClientSettings:
    """The settings that a written name stands for.

    Raises:
        ValueError: it cannot be understood; the message says which part.
    """
    name, _, rest = text.partition(":")
    profiles = {profile: profile for profile in get_args(Profile)} | CURRENT
    if name not in profiles:
        raise ValueError(f"{name!r} is not a client: choose one of {', '.join(sorted(profiles))}")
    settings = ClientSettings(profiles[name])
    for part in filter(None, rest.split(",")):
        settings = replace(settings, **_setting(part))
    return settings


def _setting(part: str) -> dict[str, Any]:
    key, given, value = part.partition("=")
    if not given and key in _FLAGS:
        return _FLAGS[key]
    if not given or key not in _VALUES:
        names = ", ".join([*_FLAGS, *(f"{name}=" for name in _VALUES)])
        raise ValueError(f"{part!r} is not a setting: choose one of {names}")
    field, read = _VALUES[key]
    try:
        return {field: read(value)}
    except ValueError:
        raise ValueError(f"{part!r}: {value!r} is not a value of {key}") from None


def _position(text: str) -> Position:
    ledger_id, entry_id = text.split(":")
    return _count(ledger_id), _count(entry_id)


def _positions(text: str) -> tuple[Position, ...]:
    return tuple(_position(part) for part in text.split("+"))


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def _seconds(text: str) -> int:
    return _count(text) * 1000


_FLAGS: dict[str, dict[str, Any]] = {
    "auto_ack": {"auto_ack": True},
    "live": {"live": True},
    "shared": {"subscription": "Shared"},
    "acks_headless": {"acks_headless": True},
}
_VALUES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "max_pending": ("max_pending", int),
    "expiry_seconds": ("expiry_ms", _seconds),
    "ack_timeout_seconds": ("ack_timeout_ms", _seconds),
    "receiver_queue": ("receiver_queue", _count),
    "start": ("start", _position),
    "reconnect_after": ("reconnect_after", _positions),
    "restart_after": ("restart_after", _positions),
}
