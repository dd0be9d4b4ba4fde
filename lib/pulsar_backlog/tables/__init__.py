"""One module per public table: its columns, key and slice. Everything else reads the contract from here."""

from pulsar_backlog.tables import (
    ack_ranges,
    changes,
    chunked_messages,
    chunks,
    client_forecasts,
    consumer_outcomes,
    entries,
    entry_spans,
    findings,
    gone_ledgers,
    inventory,
    ledger_facts,
    ledgers,
    messages,
    noted_entries,
    problems,
    producer_facts,
    quality_results,
    rejects,
    repair_actions,
    repair_plans,
    runs,
    saved_states,
    scans,
    segments,
    stalls,
    subscriptions,
    topic_stats,
    transactions,
)
from pulsar_backlog.tables.contract import Column, Table

TABLES: dict[str, Table] = {
    module.TABLE.name: module.TABLE
    for module in (
        ledgers,
        gone_ledgers,
        saved_states,
        inventory,
        scans,
        entries,
        rejects,
        ledger_facts,
        producer_facts,
        entry_spans,
        noted_entries,
        chunked_messages,
        chunks,
        consumer_outcomes,
        client_forecasts,
        topic_stats,
        segments,
        transactions,
        subscriptions,
        ack_ranges,
        stalls,
        messages,
        repair_plans,
        repair_actions,
        findings,
        quality_results,
        problems,
        changes,
        runs,
    )
}
"""Every table this program writes, in the order the jobs fill them."""

__all__ = ["TABLES", "Column", "Table"]
