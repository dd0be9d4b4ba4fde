"""Subscriptions of the topics that changed: `jobs/analyze_subscriptions.py` where there is news."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult
from pulsar_backlog.sql.engines import MAX_TASK_BYTES, query_engine
from pulsar_backlog.steps import stored_ledgers
from pulsar_backlog.steps.saved_state import SavedState, changes_of_subscriptions, saved_state
from pulsar_backlog.steps.stored_ledgers import StoredLedgers
from pulsar_backlog.steps.subscription_acks import ack_range_rows, name_acks, subscription_rows
from pulsar_backlog.steps.subscription_stalls import (
    delayed_chunks,
    findings_of_stalls,
    log_evidence,
    name_stalls,
    open_transactions,
    stall_rows,
)


def analyze_topics(context: JobContext, digest: str, tables: Sequence[str], models: tuple[str, ...]) -> JobResult:
    """Join the log with the saved state of the subscriptions of the topics that changed.

    Args:
        context: of the job.
        digest: of its inputs.
        tables: that it reads.
        models: of clients, whose forecasts are asked.
    """
    with query_engine(context, stored_ledgers.TABLES_ASKED) as engine:
        ledgers = StoredLedgers.of(engine)
    looked_at = changes_of_subscriptions(context, ledgers, {"models": models})
    if looked_at is None:
        return _without_state(digest)
    changes, state = looked_at
    changes.begin()
    rows = (
        {}
        if changes.is_empty
        else _analyze(context, changes.context, tables, saved_state(changes.context, ledgers, state), models)
    )
    return JobResult(digest, rows=rows | {"topic_digests": changes.finish()})


def _analyze(
    context: JobContext, part: JobContext, tables: Sequence[str], saved: SavedState, models: tuple[str, ...]
) -> dict[str, int]:
    """Of the topics of `part`; `entries`, of which few topics are asked, by `context`."""
    with query_engine(part, tables, MAX_TASK_BYTES) as engine:
        name_acks(engine, saved.states)
        delayed = delayed_chunks(context, saved.delaying_topics)
        name_stalls(engine, saved.readers, saved.horizons, models, context.cluster, delayed)
        begins = open_transactions(context, saved.wanted_transactions)
        held_up = saved.held_up(log_evidence(engine), begins)
        replaced = {
            "subscriptions": subscription_rows(engine, saved.rows(context.cluster, held_up)),
            "ack_ranges": ack_range_rows(engine, context.cluster),
            "stalls": stall_rows(engine),
        }
        findings = with_findings(part, findings_of_stalls(part, engine), saved.findings(held_up))
        return part.replace_all(replaced, partial(replace_findings, part, findings))


def _without_state(digest: str) -> JobResult:
    """Nothing to look at; what a version before this one said of subscriptions, whose state it did not store, stays."""
    sys.stderr.write("No saved state of subscriptions is given (--admin): they are not looked at.\n")
    return JobResult(digest, changed=False)
