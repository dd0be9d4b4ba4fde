"""The scan of what the books do not have yet: `jobs/scan_entries.py` where there may be news."""

from __future__ import annotations

from pulsar_backlog.arguments import budget_of
from pulsar_backlog.ledgers.budget import within
from pulsar_backlog.progress import progress
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings, with_findings
from pulsar_backlog.runs.runs import JobResult
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.steps import unscanned
from pulsar_backlog.steps.live_snapshots import findings_of_end
from pulsar_backlog.steps.scan_findings import TABLES_ASKED, findings_of_changed, findings_of_left, findings_of_scans


def scan_pending(context: JobContext, digest: str) -> JobResult:
    """Scan the copies that are pending, group by group, then say what the entries show.

    Args:
        context: of the job.
        digest: of its inputs.
    """
    source = context.source()
    budget = budget_of(context.options)
    with query_engine(context, unscanned.TABLES_ASKED) as engine:
        unread = unscanned.pending_copies(context, engine)
        topics = {} if budget.is_everything else unscanned.bytes_of_topics(engine)
        was_left = unscanned.told_of_left(context, engine)
    pending = within(budget, unread.copies, topics)
    taken = {copy.ledger_id for copy in pending}
    unread_copies = [copy for copy in unread.copies if copy.ledger_id not in taken]
    if not unread.copies and not was_left and not context.has("gone_ledgers"):
        return JobResult(digest, changed=False)
    unread.tell()
    from pulsar_backlog.steps.scan_group import join_facts, scan_group, scan_groups  # noqa: PLC0415 - numba

    rows = {"entries": 0, "rejects": 0}
    total = sum(copy.data_bytes or 0 for copy in pending)
    shown = progress("scan", sum(copy.scan_bytes for copy in pending))
    with shown as show:
        for group in scan_groups(pending):
            written = scan_group(context, source, group, show)
            rows = {name: rows[name] + written[name] for name in rows}
    join_facts(context)
    findings = [
        *findings_of_changed(unread.changed),
        *findings_of_left(unread_copies, topics, str(budget)),
        *findings_of_end(context.options, context.live()),
    ]
    with query_engine(context, TABLES_ASKED) as engine:
        replace_findings(context, with_findings(context, findings_of_scans(context, engine), findings))
    return JobResult(digest, rows=rows | {"scans": len(pending)}, bytes_read=total)
