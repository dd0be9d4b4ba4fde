"""One module per public table: its columns, key and slice. Everything else reads the contract from here."""

from pulsar_backlog.tables import (
    ack_ranges,
    chunked_messages,
    chunks,
    entries,
    findings,
    ledgers,
    quality_results,
    rejects,
    runs,
    scans,
    stalls,
    subscriptions,
    topic_stats,
)
from pulsar_backlog.tables.contract import Column, Table

TABLES: dict[str, Table] = {
    module.TABLE.name: module.TABLE
    for module in (
        ledgers,
        scans,
        entries,
        rejects,
        chunked_messages,
        chunks,
        topic_stats,
        subscriptions,
        ack_ranges,
        stalls,
        findings,
        quality_results,
        runs,
    )
}
"""Every table this program writes, in the order the jobs fill them."""

__all__ = ["TABLES", "Column", "Table"]
