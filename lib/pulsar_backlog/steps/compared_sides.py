"""The two audits that a comparison is given: looked at first, and read."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import Options
from pulsar_backlog.sql.audited_side import AuditedSide, audited_side
from pulsar_backlog.tableio.delta_rs import open_table
from pulsar_backlog.tables import TABLES

_INPUTS = (
    "ledgers",
    "scans",
    "gone_ledgers",
    "rejects",
    "chunked_messages",
    "subscriptions",
    "ack_ranges",
    "inventory",
    "segments",
)


def look_at_audits(options: Options) -> None:
    """Refuse what cannot be compared, before anything is made.

    Raises:
        UsageError: an audit is not named, or the results would lie among one's tables.
    """
    if options.audit_a is None or options.audit_b is None:
        raise UsageError("name both audits: --audit-a and --audit-b")
    for flag, place in (("AUDIT_A", options.audit_a), ("AUDIT_B", options.audit_b)):
        if place.rstrip("/") == (options.out or "").rstrip("/"):
            raise UsageError(f"--out {options.out} is {flag}: a comparison has tables of its own; choose another --out")
    mapped_topics(options)


def mapped_topics(options: Options) -> dict[str, str]:
    """Topic of audit B by topic of audit A, where these are named.

    Raises:
        UsageError: a topic is named twice.
    """
    pairs = [text.partition("=")[::2] for text in options.map_topic or ()]
    mapped = dict(pairs)
    if len(mapped) < len(pairs) or len(set(mapped.values())) < len(pairs):
        raise UsageError("--map-topic: a topic is named twice")
    return mapped


def sides_of(options: Options) -> Mapping[str, AuditedSide]:
    """Both audits.

    Raises:
        UsageError: one has no tables, or no scan.
    """
    return {
        "a": audited_side(options.audit_a or "", options.cluster, options.endpoint),
        "b": audited_side(options.audit_b or "", options.cluster_b, options.endpoint),
    }


def versions_of(options: Options) -> dict[str, object]:
    """The state of both audits' tables, for the fingerprint."""
    places = {"a": options.audit_a or "", "b": options.audit_b or ""}
    tables = {
        f"{side} {name}": open_table(place, TABLES[name], options.endpoint)
        for side, place in places.items()
        for name in _INPUTS
    }
    return {name: None if table is None else (table.version(), table.metadata().id) for name, table in tables.items()}
