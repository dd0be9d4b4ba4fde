"""Rows of an audit that concern one finding, and the entries it stands on; no JVM is started."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal, quoted
from pulsar_backlog.sql.recorded import cluster_of
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import Position, position_of

MAX_ROWS = 10_000
"""Rows of one table at most."""
SECRETS = {
    "entries": ("partition_key", "ordering_key", "properties", "encryption_keys", "encryption_param"),
    "rejects": ("first_bytes",),
}
"""Columns that hold what people sent."""

_NAMES = ("findings", "runs", "chunks", "chunked_messages", "stalls", "subscriptions", "consumer_outcomes", "ledgers")
_POSITION = r"^\d{1,18}:\d{1,18}$"
_SCANNED = "SELECT source, options FROM runs WHERE job = 'scan_entries' AND cluster = {} ORDER BY started DESC LIMIT 1"


@dataclass(frozen=True)
class Choice:
    """What a bundle is about.

    Attributes:
        code: of the finding.
        topic: full name; a glob that one topic with this finding matches; None where there is only one.
        subscription: its stalls and state come along; None for those of all.
        positions: entries; none for those that the finding names.
        most: entries at most.
    """

    code: str
    topic: str | None = None
    subscription: str | None = None
    positions: Sequence[str] = ()
    most: int = 50


@dataclass(frozen=True)
class FindingRows:
    """What concerns a finding.

    Attributes:
        cluster: whose it is.
        topic: of the finding; None where it is about none.
        source: where the entries were read.
        options: of the scan.
        positions: of its entries, in order.
        left_off: how many entries more there are.
        tables: rows by table.
    """

    cluster: str
    topic: str | None
    source: str | None
    options: dict[str, str]
    positions: list[Position]
    left_off: int
    tables: dict[str, pa.Table] = field(default_factory=dict)


def rows_of_finding(
    out: str, choice: Choice, cluster: str | None, endpoint: str | None, *, show_values: bool
) -> FindingRows:
    """Rows that concern a finding.

    Raises:
        UsageError: there is no such finding, or it stands for several topics and none is named.
        SourceError: the bucket of the tables cannot be read.
    """
    name = cluster_of(out, cluster, endpoint)
    mine = f"cluster = {literal(name)} AND code = {literal(choice.code)}"
    with opened(out, f"SELECT 1 FROM {', '.join(_NAMES)}", endpoint) as connection:  # noqa: S608 - our own names
        topics = [row["topic"] for row in rows_of(connection, f"SELECT DISTINCT topic FROM findings WHERE {mine}")]  # noqa: S608
        topic = _topic(choice, topics)
        mine += " AND topic IS NULL" if topic is None else f" AND topic = {literal(topic)}"
        wanted, left_off = _positions(connection, choice, mine, topic)
        publications = _publications(wanted)
        about = f"cluster = {literal(name)} AND topic = {literal(topic or '')}"
        named = "" if choice.subscription is None else f" AND subscription = {literal(choice.subscription)}"
        ids = ", ".join(str(ledger_id) for ledger_id in sorted({ledger_id for ledger_id, _ in wanted})) or "-1"
        of_them = f"{about} AND (chunk_uuid, publish_time_ms) IN ({publications})"
        conditions = {
            "findings": mine,
            "chunked_messages": of_them,
            "chunks": of_them,
            "consumer_outcomes": of_them,
            "stalls": of_them + named,
            "subscriptions": about + named,
            "ledgers": f"cluster = {literal(name)} AND ledger_id IN ({ids})",
            "runs": f"cluster = {literal(name)} QUALIFY row_number() OVER (PARTITION BY job ORDER BY started DESC) = 1",
        }
        tables = {table: _table(connection, table, where) for table, where in conditions.items()}
        scans = rows_of(connection, _SCANNED.format(literal(name)))
    tables |= _of_entries(out, name, wanted, endpoint, show_values)
    scan = scans[0] if scans else {"source": None, "options": {}}
    return FindingRows(name, topic, scan["source"], dict(scan["options"]), wanted, left_off, tables)


def _topic(choice: Choice, topics: Collection[str | None]) -> str | None:
    """The topic that is meant.

    Raises:
        UsageError: it is not plain which.
    """
    if not topics:
        raise UsageError(
            f"the audit has no finding {choice.code}: its codes and topics are in the table findings (sql)"
        )
    matches = [one for one in topics if choice.topic is None or one == choice.topic]
    if not matches and choice.topic is not None:
        matches = [one for one in topics if one is not None and fnmatchcase(one, choice.topic)]
    if len(matches) != 1:
        words = "no topic with it matches" if not matches else f"{len(matches)} topics have it: name one of them with"
        shown = ", ".join(sorted(one for one in topics if one is not None)[:5])
        raise UsageError(f"{choice.code}: {words} --topic {choice.topic or 'TOPIC'} (such as {shown})")
    return matches[0]


def _positions(connection: Any, choice: Choice, mine: str, topic: str | None) -> tuple[list[Position], int]:
    """Entries that the finding names, with the other chunks of their messages; and how many more there are."""
    if choice.positions:
        return sorted({position_of(one) for one in choice.positions})[: choice.most], 0
    evidence = (
        f"SELECT unnest(evidence) AS place FROM findings WHERE {mine} "  # noqa: S608 - literals
        f"UNION SELECT ledger_id || ':' || entry_id FROM findings WHERE {mine} AND entry_id IS NOT NULL"
    )
    rows = rows_of(connection, f"SELECT DISTINCT place FROM ({evidence}) WHERE regexp_matches(place, '{_POSITION}')")  # noqa: S608
    named = {position_of(row["place"]) for row in rows}
    siblings = (
        f"SELECT DISTINCT ledger_id, entry_id FROM chunks WHERE topic = {literal(topic or '')} "  # noqa: S608
        f"AND (chunk_uuid, publish_time_ms) IN ({_publications(named)})"
    )
    of_messages = {(row["ledger_id"], row["entry_id"]) for row in rows_of(connection, siblings)}
    everything = sorted(named | of_messages)
    return everything[: choice.most], max(len(everything) - choice.most, 0)


def _publications(positions: Collection[Position]) -> str:
    pairs = ", ".join(f"({ledger_id}, {entry_id})" for ledger_id, entry_id in sorted(positions)) or "(-1, -1)"
    return f"SELECT chunk_uuid, publish_time_ms FROM chunks WHERE (ledger_id, entry_id) IN ({pairs})"  # noqa: S608


def _of_entries(
    out: str, cluster: str, wanted: Collection[Position], endpoint: str | None, show_values: bool
) -> dict[str, pa.Table]:
    """Rows of the entries themselves; of a table of many files only those are opened that may hold them."""
    pairs = ", ".join(f"({ledger_id}, {entry_id})" for ledger_id, entry_id in wanted) or "(-1, -1)"
    ids = {"ledger_id": sorted({ledger_id for ledger_id, _ in wanted}) or [-1]}
    where = f"cluster = {literal(cluster)} AND (ledger_id, entry_id) IN ({pairs})"
    names = ("entries", "rejects")
    with opened(out, "SELECT 1 FROM entries, rejects", endpoint, dict.fromkeys(names, ids)) as connection:
        return {name: _table(connection, name, where, () if show_values else SECRETS[name]) for name in names}


def _table(connection: Any, name: str, where: str, without: Collection[str] = ()) -> pa.Table:
    columns = ", ".join(quoted(one) for one in TABLES[name].column_names() if one not in without)
    order = ", ".join(quoted(one) for one in TABLES[name].key)
    query = f"SELECT {columns} FROM {name} WHERE {where} ORDER BY {order} LIMIT {MAX_ROWS}"  # noqa: S608 - quoted
    return connection.execute(query).to_arrow_table()
