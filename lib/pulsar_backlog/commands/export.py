"""`export`: the messages themselves, from audited tables or straight from a source."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.audit import run_pipeline
from pulsar_backlog.commands.places import EndpointOption
from pulsar_backlog.config import job_argv, load_pipelines
from pulsar_backlog.errors import UsageError
from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.options import HELP

PIPELINE = "export"


def export(
    place: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|DIR", help="what to export: ledgers, or the folder of an audit", show_default=False
        ),
    ],
    out: Annotated[str | None, typer.Option(help=f"{HELP['out']}; needed with SOURCE")] = None,
    topic: Annotated[list[str] | None, typer.Option(help=HELP["topic"])] = None,
    since: Annotated[str | None, typer.Option(help="only messages published from this time on")] = None,
    until: Annotated[str | None, typer.Option(help="only messages published before this time")] = None,
    producer: Annotated[list[str] | None, typer.Option(help=HELP["producer"])] = None,
    key: Annotated[list[str] | None, typer.Option(help=HELP["key"])] = None,
    state: Annotated[list[str] | None, typer.Option(help=HELP["state"])] = None,
    transactions: Annotated[str | None, typer.Option(help=HELP["transactions"])] = None,
    private_keys: Annotated[str | None, typer.Option(help=HELP["private_keys"])] = None,
    private_keys_command: Annotated[str | None, typer.Option(help=HELP["private_keys_command"])] = None,
    to: Annotated[str | None, typer.Option(help=HELP["to"])] = None,
    form: Annotated[str | None, typer.Option("--format", help=HELP["format"])] = None,
    inline_limit_bytes: Annotated[int | None, typer.Option(help=HELP["inline_limit_bytes"])] = None,
    max_message_bytes: Annotated[int | None, typer.Option(help=HELP["max_message_bytes"])] = None,
    cluster: Annotated[str | None, typer.Option(help=HELP["cluster"])] = None,
    endpoint: EndpointOption = None,
    fail_on: Annotated[str | None, typer.Option(help=HELP["fail_on"])] = None,
    exit_zero_when_unchanged: Annotated[bool, typer.Option(help=HELP["exit_zero_when_unchanged"])] = False,
) -> None:
    """Export messages: decrypted, rebuilt, decompressed, verified; as table, Parquet or files."""
    given = {
        "topic": topic or None, "since": since, "until": until, "producer": producer or None, "key": key or None,
        "state": state or None, "transactions": transactions, "private_keys": absolute("private_keys", private_keys),
        "private_keys_command": private_keys_command, "to": absolute("to", to), "format": form,
        "inline_limit_bytes": inline_limit_bytes, "max_message_bytes": max_message_bytes, "cluster": cluster,
        "endpoint": endpoint, "fail_on": fail_on, "exit_zero_when_unchanged": exit_zero_when_unchanged or None,
    }  # fmt: skip
    raise typer.Exit(run_export(place, out, given))


def run_export(place: str, out: str | None, given: Mapping[str, object]) -> int:
    """Export from the folder of an audit, or audit what is needed of a source first; the exit code.

    Raises:
        UsageError: a source without `--out`, or an audit that does not say where its source is.
    """
    pipeline = load_pipelines().get(PIPELINE)
    here = absolute("out", place) or ""
    if not is_audit(here):
        if out is None:
            raise UsageError(f"{place} is no folder of an audit: name a folder for the tables with --out")
        return run_pipeline(pipeline, {**given, "source": here, "out": absolute("out", out)})
    if out is not None:
        raise UsageError(f"{place} is the folder of an audit: leave --out away, or name the source")
    source = source_of(here, str(given.get("cluster") or pipeline.options.cluster))
    argv = job_argv(pipeline, "export_messages", {**given, "source": source, "out": here})
    sys.stderr.write("export_messages\n")
    return int(load_job("export_messages").main(argv))


def is_audit(place: str) -> bool:
    """Whether a place holds tables rather than ledgers."""
    return "://" not in place and (Path(place) / "tables" / "entries" / "_delta_log").is_dir()


def source_of(out: str, cluster: str) -> str:
    """Where the ledgers of an audit lie: what its last scan read.

    Raises:
        UsageError: the audit has no scan of this cluster.
    """
    # Spark starts only when it is needed.
    from pulsar_backlog.storage.runs import scanned_source  # noqa: PLC0415
    from pulsar_backlog.storage.session import start_session  # noqa: PLC0415

    source = scanned_source(start_session("pulsar-backlog export", out), out, cluster)
    if source is None:
        raise UsageError(f"{out} holds no scan of cluster {cluster!r}: name the cluster of the audit with --cluster")
    return source
