"""`repair plan` and `repair show`: what would be done, and what was done. Neither changes anything on a broker."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsar_backlog.arguments import absolute, complete_options
from pulsar_backlog.commands.options import EndpointOption, Given, OutArgument, job_options
from pulsar_backlog.errors import UsageError
from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.options.printed import COMMAND_OPTIONS
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_UNCHANGED

if TYPE_CHECKING:
    from pulsar_backlog.report.terminal.repair import PlanView, Row

JOB = "plan_repair"


@job_options(
    *COMMAND_OPTIONS["repair plan"],
    words={"model": "republish what this client loses, such as python; may be repeated"},
)  # fmt: skip
def plan(
    out: OutArgument,
    given: Given,
    explain: Annotated[int | None, typer.Option(metavar="ACTION", help="show one action of the plan in full")] = None,
) -> None:
    """Plan repairs from the tables in DIR: who waits on what, and what can be done without losing anything."""
    raise typer.Exit(run_plan({**given, "out": absolute("out", out)}, explain))


def run_plan(given: Mapping[str, Any], explained: int | None) -> int:
    """Make the plan and print it, or one action of it; the exit code.

    Raises:
        UsageError: no tables, tables of several clusters and none named, or no such action.
    """
    from pulsar_backlog.jobfiles import load_job
    from pulsar_backlog.ledgers.buckets.addresses import results_at
    from pulsar_backlog.options import given_options
    from pulsar_backlog.report.terminal.repair import print_action, print_plan
    from pulsar_backlog.sql.recorded import cluster_of

    given_options(given)  # what is mistyped is said before the tables are looked for
    out = str(given["out"])
    with results_at(out, given.get("endpoint")):
        cluster = cluster_of(out, given.get("cluster"))
        options = complete_options(JOB, given_options({**given, "cluster": cluster}))
        from pulsar_backlog.runs.runs import run_job

        job = load_job(JOB)
        seen: list[PlanView] = []
        code = run_job(JOB, job.arg_parser(), options, lambda c: job.plan(c, seen.append))
    if not seen or code not in (EXIT_CLEAN, EXIT_UNCHANGED):
        return code
    if explained is None:
        print_plan(seen[0])
    else:
        print_action(_chosen(seen[0].actions, explained))
    return EXIT_CLEAN


def plan_folder(text: str) -> Path:
    """The folder of a plan.

    Raises:
        UsageError: it lies in a bucket.
    """
    if "://" in text:
        name = shell_word(text.rstrip("/").rpartition("/")[2])
        raise UsageError(
            f"{text}: a plan is applied and verified from a local disk, which keeps its journal. Copy it there: "
            f"pulsar-backlog repair show {shell_word(text)} --to {name}"
        )
    return Path(text)


PlanArgument = Annotated[
    Path, typer.Argument(metavar="PLAN", help="folder of a repair plan", parser=plan_folder, show_default=False)
]


def show(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="folder of a repair plan, in a bucket too", show_default=False)
    ],
    action: Annotated[int | None, typer.Option(help="show one action in full")] = None,
    json_: Annotated[bool, typer.Option("--json", help="the plan with its audit trail as JSON, for a ticket")] = False,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="copy a plan out of its bucket to this new folder")
    ] = None,
    endpoint: EndpointOption = None,
) -> None:
    """Show a plan and all that was done about it; asks no broker."""
    if "://" not in plan:
        if to is not None:
            raise UsageError(f"--to {to}: {plan} lies on a disk already: apply it there")
        _show(Path(plan), action, as_json=json_)
        return
    from pulsar_backlog.tableio.beside import copy_folder

    if to is not None:
        copy_folder(plan, endpoint, to)
        _show(to, action, as_json=json_)
        return
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-") as made:
        copy_folder(plan, endpoint, copy := Path(made) / "plan")
        _show(copy, action, as_json=json_, shown_as=plan)


def _show(folder: Path, action: int | None, *, as_json: bool, shown_as: str | None = None) -> None:
    from pulsar_backlog.repair.applying.journal import open_journal
    from pulsar_backlog.repair.applying.trail import action_rows, plan_state, read_verdicts, ticket
    from pulsar_backlog.repair.values import read_plan
    from pulsar_backlog.report.terminal.repair import PlanView, print_action, print_plan

    planned = read_plan(folder)
    rows: Sequence[Row] = action_rows(planned, open_journal(folder, planned), read_verdicts(folder))
    if action is not None:
        rows = [_chosen(rows, action)]
    if as_json:
        sys.stdout.write(ticket(planned, rows) + "\n")
    elif action is not None:
        print_action(rows[0])
    else:
        print_plan(PlanView(planned.plan_id, shown_as or str(folder), plan_state(rows), rows, basis=planned.basis))


def audit_beside(plan: Path) -> str | None:
    """The folder of the audit that a plan lies in; None where it was taken elsewhere."""
    out = plan.resolve().parent.parent
    return str(out) if (out / "tables" / "repair_plans" / "_delta_log").is_dir() else None


def record(plan: Path) -> None:
    """Bring the tables beside a plan up to what its journal says; nothing when no tables lie beside it."""
    out = audit_beside(plan)
    if out is None:
        return
    from pulsar_backlog.jobfiles import load_job
    from pulsar_backlog.repair.applying.journal import open_journal
    from pulsar_backlog.repair.applying.trail import action_rows, plan_state, read_verdicts
    from pulsar_backlog.repair.values import read_plan
    from pulsar_backlog.runs.repairs import plan_row, write_trail
    from pulsar_backlog.spark.session import start_session
    from pulsar_backlog.tableio.store import TableStore

    planned = read_plan(plan)
    rows = action_rows(planned, open_journal(plan, planned), read_verdicts(plan))
    store = TableStore(out, lambda: start_session("pulsar-backlog repair", out))
    row = plan_row(store, planned.cluster, planned.plan_id)
    if row is None:
        return
    write_trail(store, {**row, "state": plan_state(rows)}, rows)
    load_job(JOB).write_page(store, planned.cluster)


def _chosen(rows: Sequence[Row], number: int) -> Row:
    chosen = [row for row in rows if row["action"] == number]
    if not chosen:
        raise UsageError(f"the plan has no action {number}")
    return chosen[0]
