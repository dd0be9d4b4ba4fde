"""`maintain`: the tables of an audit kept small. Nothing is changed without --yes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pulsar_backlog.arguments import absolute, complete_options
from pulsar_backlog.commands.options import Given, JsonOption, OutArgument, job_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS

JOB = "maintain_tables"


@job_options(*COMMAND_OPTIONS["maintain"])
def maintain(
    out: OutArgument,
    given: Given,
    yes: Annotated[bool, typer.Option("--yes", help="do it; without this, say only what would be done")] = False,
    as_json: JsonOption = False,
) -> None:
    """Keep the tables in DIR small: rows of what is long gone, small files, files that nobody reads."""
    raise typer.Exit(run_maintenance({**given, "out": absolute("out", out), "dry_run": not yes}, as_json=as_json))


def run_maintenance(given: Mapping[str, Any], *, as_json: bool) -> int:
    """Maintain the tables, or say what would be done; the exit code.

    Raises:
        UsageError: no tables, or tables of several clusters and none named.
    """
    from pulsar_backlog.jobfiles import load_job
    from pulsar_backlog.ledgers.buckets.addresses import results_at
    from pulsar_backlog.options import given_options
    from pulsar_backlog.report.terminal.maintenance import print_maintenance
    from pulsar_backlog.runs.runs import run_job
    from pulsar_backlog.sql.recorded import cluster_of
    from pulsar_backlog.terms import EXIT_CLEAN, EXIT_UNCHANGED

    given_options(given)  # what is mistyped is said before the tables are looked for
    out = str(given["out"])
    then = "Dry run, nothing was changed: add --yes to do it." if given["dry_run"] else ""
    with results_at(out, given.get("endpoint")):
        cluster = cluster_of(out, given.get("cluster"))
        options = complete_options(JOB, given_options({**given, "cluster": cluster}))
        job = load_job(JOB)
        is_due: list[bool] = []

        def show(done: Any) -> None:
            is_due.append(bool(done.tables))
            print_maintenance(done, as_json=as_json, then=then if done.tables else "")

        code = run_job(JOB, job.arg_parser(), options, lambda context: job.carry_out(context, show))
    return EXIT_CLEAN if code == EXIT_UNCHANGED and is_due == [True] else code
