"""JSON Schemas of result.json and of the JSON lines of an audit, made of the values that the report writes.

Rows are the `TypedDict`s and dataclasses of `report/`; what result.json puts around them stands here, and
tests/report/test_schemas.py holds both against real results. Words for the fields: docs/result.md.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from pulsar_backlog.report.acks import BlockedRow, PositionRow, StallRow, SubscriptionRow
from pulsar_backlog.report.clients import OUTCOMES, Example, ForecastRow
from pulsar_backlog.report.facts import FactKind
from pulsar_backlog.report.maintenance import Maintenance, TableUpkeep
from pulsar_backlog.report.model import FindingRow, QualityRow
from pulsar_backlog.report.outlook import Outlook
from pulsar_backlog.report.since import WORDS, ChangeRow
from pulsar_backlog.report.verdict import Grade
from pulsar_backlog.report.words import EXIT_CODES
from pulsar_backlog.subscriptions.advice import Need
from pulsar_backlog.terms import RESULT_VERSION

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAIN = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}


def of(kind: Any) -> Schema:
    """The schema of a type: a plain one, a `Literal`, a list, a union, or a record of such."""
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    if get_origin(kind) in (list, tuple):
        return {"type": "array", "items": of(get_args(kind)[0])}
    if get_origin(kind) in (Union, UnionType):
        kinds = [of(one) for one in get_args(kind)]
        plain = [one["type"] for one in kinds if set(one) == {"type"}]
        return {"type": plain} if len(plain) == len(kinds) else {"anyOf": kinds}
    if is_typeddict(kind) or is_dataclass(kind):
        return record({name: of(hint) for name, hint in get_type_hints(kind).items()})
    raise TypeError(f"no schema for {kind}")


def record(fields: Schema) -> Schema:
    """An object with exactly these fields."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def counted(row: Schema, **more: Schema) -> Schema:
    """Rows that are listed as far as they go, with how many there are."""
    return record({"total": of(int), **more, "listed": of(int), "rows": {"type": "array", "items": row}})


def numbers() -> Schema:
    """Numbers by name."""
    return {"type": "object", "additionalProperties": of(int)}


TEXTS: Schema = {"type": "object", "additionalProperties": of(str)}
FACT = record({"kind": of(FactKind), "what": of(str), "sureness": of(str | None), "who": of(str), "meaning": of(str)})
VERDICT = record({
    "grade": of(Grade), "complete": of(bool), "headline": of(str), "sureness": of(str),
    "facts": {"type": "array", "items": FACT},
})  # fmt: skip
COUNTS = record({
    **{name: of(int) for name in ("topics", "ledgers", "ledgers_not_ok", "entries", "rejected", "bytes")},
    "messages": of(int | None), "chunk_entries": of(int), "chunked_messages": of(int),
    "by_state": numbers(), "by_flag": numbers(), "by_outcome": numbers(), "rebuildable": of(int),
})  # fmt: skip
NEXT = record({
    "command": of(str), "changes": of(str), "codes": of(list[str]), "topic": of(str | None),
    "subscription": of(str | None), "advice": of(str | None), "how": of(str | None),
})  # fmt: skip
BLOCKED = {"blocked": of(int), "blocked_by_sureness": numbers()}
BLOCKED_ROW = record({**of(BlockedRow)["properties"], "advice": of(str), "need": of(Need)})
SUBSCRIPTION = record({
    **of(SubscriptionRow)["properties"],
    "blocked_at": of(PositionRow | None), "blocked_sureness": of(str | None), "advice": of(str),
    "need": of(Need), "forecast": {"anyOf": [of(Outlook), of(NoneType)]}, "chunk_sets": counted(of(StallRow)),
})  # fmt: skip
FIRST = record({"topic": of(str | None), "ledger_id": of(int | None), "entry_id": of(int | None)})
CLIENT = record({
    "model": of(str), **{name: of(int) for name in OUTCOMES}, "stopped_topics": of(int), "damage": of(str | None),
    "first": {"anyOf": [FIRST, of(NoneType)]},
})  # fmt: skip
TOPIC_CLIENT = record({**of(ForecastRow)["properties"], "examples": of(list[Example])})
TOPIC = record({
    "topic": of(str | None), "grade": of(Grade), "verdict": of(str), "entries": of(int), "rejected": of(int),
    "messages": of(int | None), "bytes": of(int), "by_state": numbers(), "findings": of(int),
    "subscriptions": counted(SUBSCRIPTION, **BLOCKED), "clients": {"type": "array", "items": TOPIC_CLIENT},
})  # fmt: skip
CODE = record({
    "code": of(str), "name": of(str), "severity": of(str), "findings": of(int), "count": of(int),
    "incomplete": of(bool), "meaning": of(str), "remedy": of(str),
})  # fmt: skip
CHANGE_COUNTS = record({change: of(int) for change in WORDS})
SINCE = counted(
    of(ChangeRow), previous_ms=of(int), acknowledged=of(int),
    counts=record(dict.fromkeys(("error", "warning", "info"), CHANGE_COUNTS)),
)  # fmt: skip
MAINTENANCE = record({**of(Maintenance)["properties"], "tables": of(list[TableUpkeep])})
HEAD: Schema = {
    "schema_version": {"const": RESULT_VERSION},
    "cluster": of(str),
    "exit_code": {"enum": sorted(EXIT_CODES)},
    "verdict": VERDICT,
    "counts": COUNTS,
    "next": {"type": "array", "items": NEXT},
}


def result_schema() -> Schema:
    """result.json: of an audit that ended, and of one that has not, or not well."""
    finished = record({
        **HEAD, "state": {"const": "finished"}, "source": of(str), "started_ms": of(int), "seconds": of(float),
        "options": TEXTS, "versions": TEXTS,
        "subscriptions": counted(BLOCKED_ROW, stalled=of(int), **BLOCKED),
        "clients": {"type": "array", "items": CLIENT},
        "since_last_audit": {"anyOf": [SINCE, of(NoneType)]},
        "findings": counted(of(FindingRow), by_code={"type": "array", "items": CODE}),
        "quality": of(list[QualityRow]), "topics": counted(TOPIC), "tables": numbers(), "maintenance": MAINTENANCE,
    })  # fmt: skip
    finished["required"].remove("maintenance")
    pending = record({
        "schema_version": HEAD["schema_version"], "state": {"enum": ["unfinished", "stopped"]}, "cluster": of(str),
        "job": of(str | None), "started_ms": of(int), "exit_code": of(int | None), "message": of(str),
        "last": {"type": ["object", "null"]},
    })  # fmt: skip
    return {"$schema": DIALECT, "title": "result.json of pulsar-backlog", "oneOf": [finished, pending]}


def lines_schema() -> Schema:
    """One of the JSON lines that an audit prints; `unchanged` where it found nothing new to do."""
    verdict = record({"type": {"const": "verdict"}, **HEAD, "unchanged": {"const": True}})
    verdict["required"].remove("unchanged")
    finding = record({"type": {"const": "finding"}, **of(FindingRow)["properties"]})
    return {"$schema": DIALECT, "title": "JSON lines of pulsar-backlog audit", "oneOf": [verdict, finding]}


SCHEMAS = {"result.schema.json": result_schema, "lines.schema.json": lines_schema}
"""File in `conf/schemas/` -> what makes it."""
