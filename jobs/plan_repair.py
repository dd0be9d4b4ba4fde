"""What to put right, and how: a plan of actions with reason, evidence, sureness, size and undo. It changes nothing.

Reads: `stalls`, `chunks`, `chunked_messages`, `entries`, `subscriptions`, `topic_stats`; `repair_actions` of earlier
plans, so that nothing is published twice; `consumer_outcomes` where models are chosen; `messages` of an export; an
earlier audit's tables where acknowledgements are restored; the source in `runs` where messages go as they are stored;
`cut_off_entries` where these are republished.
Writes: `repair_plans`, `repair_actions`, repairs.html, and the plan with its payloads under `plans/` beside the tables.
Guarantees: an entry is acknowledged only when its message can certainly never be whole, or is exported and verified.
The same tables and choices make the same plan. What is collected is bounded; what did not fit waits for another plan.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
from collections.abc import Callable
from dataclasses import replace

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.errors import UsageError
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.repair.applying.journal import open_journal
from pulsar_backlog.repair.applying.trail import action_rows, plan_state, read_verdicts
from pulsar_backlog.repair.planning.folder import store_plan
from pulsar_backlog.repair.values import PLAN_NAME
from pulsar_backlog.report.places import REPAIRS
from pulsar_backlog.report.repair_page import render_repairs
from pulsar_backlog.report.terminal.repair import PlanView, print_plan
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.repairs import history, plan_row, write_trail
from pulsar_backlog.runs.runs import JobResult, audit_of, fingerprint, run_job
from pulsar_backlog.steps.plan_rows import PLANS, held_back_rows, row_of, with_commands
from pulsar_backlog.steps.plan_tables import PlanTables
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tableio.store import TableStore

JOB = "plan_repair"
INPUTS = ("stalls", "chunks", "chunked_messages", "entries", "subscriptions", "consumer_outcomes", "topic_stats")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, lambda context: plan(context, print_plan))


def plan(context: JobContext, use: Callable[[PlanView], None]) -> JobResult:
    """Make the plan, hand what it says to `use`, and write it; a plan without actions is not written."""
    if not context.has("stalls"):
        raise UsageError(f"{context.out} says nothing of subscriptions: audit with --admin first")
    sources = PlanTables(context)
    run = audit_of(context)
    planned = with_commands(sources.planned(), run)
    inputs = {name: context.version(name) for name in (*INPUTS, "messages")}
    digest = fingerprint(context.options, {"plan": planned.plan.plan_id, **inputs})
    files, name = beside(context.out), f"{PLANS}/{planned.plan.plan_id}"
    rest = held_back_rows(planned)
    if not planned.plan.actions:
        use(PlanView(planned.plan.plan_id, None, "planned", (), rest, planned.left_off, run, planned.plan.basis))
        return JobResult(digest)
    is_new = not files.exists(f"{name}/{PLAN_NAME}")
    with files.folder(name, last=PLAN_NAME) as at:
        store_plan(at, planned, sources.payloads(planned))
        rows = action_rows(planned.plan, open_journal(at, planned.plan), read_verdicts(at))
    shown = PlanView(planned.plan.plan_id, files.uri(name), plan_state(rows), tuple(rows), rest, planned.left_off, run)
    use(replace(shown, basis=planned.plan.basis))
    earlier = plan_row(context.store, context.cluster, planned.plan.plan_id)
    if is_new or earlier is None:
        write_trail(context.store, row_of(context, planned, rows, rest, inputs), rows)
        write_page(context.store, context.cluster)
        return JobResult(digest, rows={"repair_plans": 1, "repair_actions": len(rows)})
    return JobResult(digest, changed=False)


def write_page(store: TableStore, cluster: str) -> None:
    """The page that shows all plans and what was done about them."""
    beside(store.out).write(REPAIRS, render_repairs(cluster, *history(store, cluster)))


if __name__ == "__main__":
    run_process(main)
