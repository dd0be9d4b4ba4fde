"""What a kind of finding is, and the words that its catalogue entries share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Worst first."""

PULSAR = "https://github.com/apache/pulsar"
OFFLOADER = (
    f"{PULSAR}/blob/492eb456/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl"
)


@dataclass(frozen=True)
class FindingKind:
    """What a code means, in words for someone tired and worried.

    Attributes:
        code: stable code.
        name: short name, snake case.
        severity: how bad it is.
        meaning: what it means for whom, one sentence.
        cause: the likely cause.
        remedy: what to do.
        command: the next command to type; `OUT`, `SOURCE` and `SUBJECT` stand for the user's own.
        upstream: where the fact or the fault is documented.
        counted: what is counted where one finding stands for many places of a topic: the beginning of a sentence, or
            the sentence with `{count}` and `{extent}` in it; empty where each finding has a message of its own.
    """

    code: str
    name: str
    severity: Severity
    meaning: str
    cause: str
    remedy: str
    command: str
    upstream: str
    counted: str = ""


SQL_REJECTS = 'pulsar-backlog sql OUT "SELECT * FROM rejects WHERE ledger_id = SUBJECT"'
SQL_CHUNKED = 'pulsar-backlog sql OUT "SELECT * FROM broken_chunked_messages"'
SQL_TRANSACTIONS = 'pulsar-backlog sql OUT "SELECT * FROM transactions"'
SQL_COPIES = 'pulsar-backlog sql OUT "SELECT * FROM ledgers WHERE ledger_id = SUBJECT"'
INTERNALS = "pulsar-backlog internals OUT"
SQL_INVENTORY = 'pulsar-backlog sql OUT "SELECT * FROM inventory WHERE ledger_id = SUBJECT"'
SQL_GONE = 'pulsar-backlog sql OUT "SELECT * FROM gone_ledgers"'
SQL_SEGMENTS = 'pulsar-backlog sql OUT "SELECT * FROM segments"'
SQL_SCHEMAS = 'pulsar-backlog sql OUT "SELECT * FROM schema_use"'
SQL_HORIZONS = 'pulsar-backlog sql OUT "SELECT * FROM compaction_horizons"'
SQL_TWICE = 'pulsar-backlog sql OUT "SELECT * FROM messages_stored_twice"'
SQL_PENDING = 'pulsar-backlog sql OUT "SELECT * FROM pending_acknowledgements"'
SQL_CONTRADICTIONS = 'pulsar-backlog sql OUT "SELECT * FROM transaction_contradictions"'
SQL_DELAYED = 'pulsar-backlog sql OUT "SELECT * FROM delayed_messages"'
SQL_REPLICATION = 'pulsar-backlog sql OUT "SELECT * FROM replication"'
SQL_SNAPSHOTS = 'pulsar-backlog sql OUT "SELECT * FROM replicated_subscriptions"'
SQL_CUT_OFF = 'pulsar-backlog sql OUT "SELECT * FROM confirmed_cut_off"'
EXPLAIN = "pulsar-backlog explain SOURCE LEDGER:ENTRY"
AUDIT = "pulsar-backlog audit SOURCE --out OUT"
SNAPSHOT = "pulsar-backlog snapshot --admin-url http://BROKER:8080 --out DIR"
