"""What a comparison says one side lacks, with the messages of the other side's export that would fill it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.terms import Position

_COMPARISON = "SELECT 1 FROM differences, compared_topics, message_digests"
_PLACE = ("ledger_id", "entry_id", "batch_index")
_MESSAGE = (
    "outcome, verified, reason, transaction, payload_sha256, payload_bytes, payload, payload_file, null_value, "
    "producer_name, sequence_id, publish_time_ms, epoch_ms(event_time) AS event_time_ms, deliver_at_time, properties, "
    "partition_key, partition_key_b64_encoded, ordering_key, schema_version, schema_id, replicate_to, replicated_from, "
    "encryption_key_names, chunk_uuid"
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Missing:
    """What a side lacks.

    Attributes:
        cluster: of the comparison.
        audit: folder or bucket of the audit that has the messages.
        ends: last entry of a message of each topic of the side.
        streams: clusters that the side's messages were replicated from, as that side calls them.
        rows: of `differences`, in the order of the other side's log, at most so many as were asked for; each with
            `message`, its row of that audit's `messages`, or None where no export holds it.
        more: rows beyond these.
    """

    cluster: str
    audit: str
    ends: dict[str, Position]
    streams: list[str]
    rows: list[Row]
    more: int


def missing_messages(out: str, side: str, most: int, endpoint: str | None = None) -> Missing:
    """What a comparison's tables say a side lacks, or holds broken.

    Args:
        out: folder or bucket of the comparison.
        side: `a` or `b`.
        most: rows at most.
        endpoint: of the bucket.

    Raises:
        UsageError: there is no comparison there, or one of several audits.
    """
    other = "b" if side == "a" else "a"
    with opened(out, _COMPARISON, endpoint) as connection:
        audits = rows_of(connection, f"SELECT DISTINCT cluster, out_{other} AS out FROM compared_topics")  # noqa: S608
        if len(audits) != 1:
            raise UsageError(
                f"{out} holds no comparison of two audits: pulsar-backlog compare AUDIT_A AUDIT_B --out OUT"
            )
        place = ", ".join(f"{other}_{name}" for name in _PLACE)
        wanted = f"FROM differences WHERE side = {literal(side)} AND kind IN ('missing', 'broken')"
        (total,) = rows_of(connection, f"SELECT count(*) AS n {wanted}")
        rows = rows_of(
            connection,
            f"SELECT topic, topic_b, kind, sureness, reason, {place} {wanted} "
            f"ORDER BY topic, {place} LIMIT {int(most)}",
        )
        named = f"side = {literal(side)} AND replicated_from IS NOT NULL"
        query = f"SELECT DISTINCT replicated_from AS name FROM message_digests WHERE {named} ORDER BY name"  # noqa: S608
        streams = [row["name"] for row in rows_of(connection, query)]
        ends = _ends(connection, side)
    audit = str(audits[0]["out"])
    messages = _exported(audit, [tuple(row[f"{other}_{name}"] for name in _PLACE) for row in rows], endpoint)
    for row in rows:
        row["place"] = tuple(row[f"{other}_{name}"] for name in _PLACE)
        row["message"] = messages.get(row["place"])
    return Missing(str(audits[0]["cluster"]), audit, ends, streams, rows, int(total["n"]) - len(rows))


def _ends(connection: duckdb.DuckDBPyConnection, side: str) -> dict[str, Position]:
    grouped = f"FROM message_digests WHERE side = {literal(side)} AND topic IS NOT NULL GROUP BY topic, ledger_id"
    query = f"SELECT topic, ledger_id, max(entry_id) AS entry_id {grouped} ORDER BY topic, ledger_id"
    return {row["topic"]: (row["ledger_id"], row["entry_id"]) for row in rows_of(connection, query)}


def _exported(audit: str, places: list[tuple[int, ...]], endpoint: str | None) -> dict[tuple[int, ...], Row]:
    """Rows of `messages` by place."""
    if not places:
        return {}
    values = ", ".join(f"({ledger}, {entry}, {member})" for ledger, entry, member in places)
    names = ", ".join(_PLACE)
    query = f"SELECT {names}, {_MESSAGE} FROM messages WHERE ({names}) IN (VALUES {values})"  # noqa: S608 - numbers
    try:
        with opened(audit, "SELECT 1 FROM messages", endpoint) as connection:
            return {tuple(row[name] for name in _PLACE): row for row in rows_of(connection, query)}
    except UsageError as error:
        raise UsageError(f"the exported messages of {audit} cannot be read: {error}") from None
