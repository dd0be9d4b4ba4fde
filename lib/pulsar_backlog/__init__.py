"""Read Apache Pulsar backlogs straight from storage and say exactly what is in them.

`open`, `audit`, `sql` and `register` are the API for Python, see docs/python.md. They are loaded when first used;
`__init__.pyi` has their types.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AuditResult": "pulsar_backlog.api.audits",
    "Backlog": "pulsar_backlog.api.backlog",
    "audit": "pulsar_backlog.api.audits",
    "open": "pulsar_backlog.api.backlog",
    "register": "pulsar_backlog.api.spark_source",
}


def __getattr__(name: str) -> Any:
    if name == "sql":  # a room of ours that can be called
        return import_module("pulsar_backlog.sql")
    if name == "errors":
        return import_module("pulsar_backlog.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, "errors", "sql"])
