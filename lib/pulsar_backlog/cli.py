"""The command line: audit, run, explain, sql."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console

from pulsar_backlog import __version__
from pulsar_backlog.config import Pipeline, job_argv, load_pipelines
from pulsar_backlog.errors import DecodeError, SourceError, UsageError
from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.options import HELP, absolute
from pulsar_backlog.report.again import Saved
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.storage.runs import (
    EXIT_CLEAN,
    EXIT_FAILED,
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_UNCHANGED,
    EXIT_USAGE,
    run_job,
)

app = typer.Typer(
    help="Read Apache Pulsar backlogs straight from storage and say exactly what is in them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help=HELP["source"], show_default=False)]
EndpointOption = Annotated[str | None, typer.Option(help=HELP["endpoint"])]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pulsar-backlog {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="version")] = False,
) -> None:
    """Read Apache Pulsar backlogs straight from storage and say exactly what is in them."""


@app.command()
def audit(
    source: SourceArgument,
    out: Annotated[str, typer.Option(help=HELP["out"], show_default=False)],
    admin: Annotated[str | None, typer.Option(help=HELP["admin"])] = None,
    topic: Annotated[list[str] | None, typer.Option(help=HELP["topic"])] = None,
    ledger: Annotated[list[str] | None, typer.Option(help=HELP["ledger"])] = None,
    since: Annotated[str | None, typer.Option(help=HELP["since"])] = None,
    until: Annotated[str | None, typer.Option(help=HELP["until"])] = None,
    cluster: Annotated[str | None, typer.Option(help=HELP["cluster"])] = None,
    endpoint: EndpointOption = None,
    fail_on: Annotated[str | None, typer.Option(help=HELP["fail_on"])] = None,
    exit_zero_when_unchanged: Annotated[bool, typer.Option(help=HELP["exit_zero_when_unchanged"])] = False,
) -> None:
    """Audit offloaded ledgers: tables, findings and a report."""
    given = {
        "source": absolute("source", source), "out": absolute("out", out), "admin": absolute("admin", admin),
        "topic": topic or None, "ledger": ledger or None, "since": since, "until": until, "cluster": cluster,
        "endpoint": endpoint, "fail_on": fail_on, "exit_zero_when_unchanged": exit_zero_when_unchanged or None,
    }  # fmt: skip
    raise typer.Exit(run_pipeline(load_pipelines().get("audit"), given))


@app.command()
def run(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="name in pipelines.yaml", show_default=False)],
    source: Annotated[str | None, typer.Option(help=HELP["source"])] = None,
    out: Annotated[str | None, typer.Option(help=HELP["out"])] = None,
    admin: Annotated[str | None, typer.Option(help=HELP["admin"])] = None,
    cluster: Annotated[str | None, typer.Option(help=HELP["cluster"])] = None,
    endpoint: EndpointOption = None,
    fail_on: Annotated[str | None, typer.Option(help=HELP["fail_on"])] = None,
    exit_zero_when_unchanged: Annotated[bool, typer.Option(help=HELP["exit_zero_when_unchanged"])] = False,
) -> None:
    """Run a pipeline of pipelines.yaml, its jobs one after the other in one Spark session."""
    given = {
        "source": absolute("source", source), "out": absolute("out", out), "admin": absolute("admin", admin),
        "cluster": cluster, "endpoint": endpoint, "fail_on": fail_on,
        "exit_zero_when_unchanged": exit_zero_when_unchanged or None,
    }  # fmt: skip
    raise typer.Exit(run_pipeline(load_pipelines().get(pipeline), given))


@app.command()
def explain(
    source: SourceArgument,
    position: Annotated[str, typer.Argument(metavar="LEDGER:ENTRY", help="position of the entry", show_default=False)],
    endpoint: EndpointOption = None,
    show_values: Annotated[bool, typer.Option(help="show payload, keys and property values")] = False,
) -> None:
    """Show one entry: hex beside fields, metadata, checksum, and the chunked message it belongs to."""
    from pulsar_backlog.explain import explain_entry  # noqa: PLC0415 - the other commands do without it
    from pulsar_backlog.report.explain import print_explain  # noqa: PLC0415

    print_explain(explain_entry(absolute("source", source) or "", endpoint, position, show_values), Console())


@app.command()
def sql(
    out: Annotated[str, typer.Argument(metavar="DIR", help=HELP["out"], show_default=False)],
    query: Annotated[str, typer.Argument(metavar="SQL", help="a query over the tables and views", show_default=False)],
) -> None:
    """Ask SQL of the tables in DIR, and of the views of conf/sql by name."""
    from pulsar_backlog.storage.query import run_query  # noqa: PLC0415 - starts Spark

    run_query(absolute("out", out) or "", query, Console())


def run_pipeline(pipeline: Pipeline, given: Mapping[str, object]) -> int:
    """Run the jobs of a pipeline; the worst of what they found decides the exit code, 99 when nothing was new."""
    overrides = {**given, "exit_zero_when_unchanged": None}
    lines = {entry.job: job_argv(pipeline, entry.job, overrides) for entry in pipeline.jobs}
    codes: list[int] = []
    for number, (job, argv) in enumerate(lines.items(), start=1):
        # On standard error: standard output is the result's.
        sys.stderr.write(f"[{number}/{len(lines)}] {job}\n")
        code = _run_report(argv, codes, given) if job == "write_report" else load_job(job).main(argv)
        if code in (EXIT_USAGE, EXIT_FAILED):
            return int(code)
        codes.append(code)
    return _worst(codes, given)


def _worst(codes: list[int], given: Mapping[str, object]) -> int:
    for code in (EXIT_INCOMPLETE, EXIT_FINDINGS):
        if code in codes:
            return code
    unchanged = bool(codes) and all(code == EXIT_UNCHANGED for code in codes)
    return EXIT_UNCHANGED if unchanged and not given.get("exit_zero_when_unchanged") else EXIT_CLEAN


def _run_report(argv: list[str], codes: list[int], given: Mapping[str, object]) -> int:
    """The report last: what it shows ends with the exit code of the whole. That code is what it returns."""
    job = load_job("write_report")
    seen: list[ReportModel] = []
    saved: list[Saved] = []
    code = run_job(job.JOB, job.arg_parser(), argv, lambda context: job.write(context, seen.append, saved.append))
    if saved:
        job.show_again(saved[0])
        return int(saved[0]["exit_code"])
    if not seen or code in (EXIT_USAGE, EXIT_FAILED):
        return code
    final = seen[0].exit_code if seen[0].exit_code != EXIT_CLEAN else _worst([*codes, code], given)
    job.show(replace(seen[0], exit_code=final))
    return final if final in (EXIT_FINDINGS, EXIT_INCOMPLETE) else code


def run_cli() -> None:
    """The program's door: a user's mistake is one sentence and exit code 2.

    Typer itself says what is wrong with the command line, and exits with the code of `typer.Exit`.
    """
    try:
        app(prog_name="pulsar-backlog")
    except UsageError as error:
        _fail(str(error), EXIT_USAGE)
    except (SourceError, DecodeError) as error:
        _fail(str(error), EXIT_INCOMPLETE)


def _fail(words: str, code: int) -> None:
    Console(stderr=True).print(f"pulsar-backlog: {words}", highlight=False, markup=False, soft_wrap=True)
    sys.exit(code)


if __name__ == "__main__":
    run_cli()
