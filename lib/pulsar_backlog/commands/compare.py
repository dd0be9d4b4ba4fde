"""`compare`: two audits, message by message: what is missing, stored twice, in another order, or broken on a side."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pulsar_backlog.arguments import absolute, complete_options
from pulsar_backlog.commands.options import Given, job_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS

_A = "folder or bucket of the tables of an audit"
_B = "the same of the audit to compare it with: of the other cluster, of a backup, or an older one"


@job_options(*COMMAND_OPTIONS["compare"], required=("out",))
def compare(
    audit_a: Annotated[str, typer.Argument(metavar="AUDIT_A", help=_A, show_default=False)],
    audit_b: Annotated[str, typer.Argument(metavar="AUDIT_B", help=_B, show_default=False)],
    given: Given,
) -> None:
    """Compare the logs of two audits message by message: replicated clusters, a backup, a topic made again."""
    raise typer.Exit(run_compare(audit_a, audit_b, given))


def run_compare(audit_a: str, audit_b: str, given: Mapping[str, Any]) -> int:
    """Compare two audits; the exit code."""
    from pulsar_backlog.options import given_options
    from pulsar_backlog.runs.endings import ending

    def run() -> int:
        from pulsar_backlog.jobfiles import load_job
        from pulsar_backlog.sql.recorded import cluster_of

        a, b = absolute("audit_a", audit_a) or "", absolute("audit_b", audit_b) or ""
        cluster = cluster_of(a, given.get("cluster"), given.get("endpoint"))
        options = given_options({**given, "audit_a": a, "audit_b": b, "cluster": cluster})
        sys.stderr.write("compare_clusters\n")
        return int(load_job("compare_clusters").main(complete_options("compare_clusters", options)))

    return ending("pulsar-backlog compare", run)
