"""`export`: the messages themselves, from audited tables or straight from a source."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsar_backlog.arguments import absolute, complete_options
from pulsar_backlog.commands.audit import run_pipeline
from pulsar_backlog.commands.options import ConfigOption, Given, job_options
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import OPTIONS
from pulsar_backlog.options.printed import COMMAND_OPTIONS

if TYPE_CHECKING:
    from pulsar_backlog.config import Pipeline

PIPELINE, JOB = "export", "export_messages"


@job_options(
    *COMMAND_OPTIONS["export"],
    words={
        "out": f"{OPTIONS['out'].words.help}; required with SOURCE",
        "since": "only messages published from this time on",
        "until": "only messages published before this time",
    },
)  # fmt: skip
def export(
    place: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|DIR", help="what to export: ledgers, or the folder of an audit", show_default=False
        ),
    ],
    given: Given,
    config: ConfigOption = None,
) -> None:
    """Export messages: decrypted, rebuilt, decompressed, verified; as table, Parquet or files."""
    out = given.pop("out", None)
    raise typer.Exit(run_export(place, out, given, config))


def run_export(place: str, out: str | None, given: Mapping[str, Any], config: str | None = None) -> int:
    """Export from the folder of an audit, or audit what is needed of a source first; the exit code.

    Raises:
        UsageError: a source without `--out`, or an audit that does not say where its source is.
    """
    from pulsar_backlog.config import configured
    from pulsar_backlog.ledgers.buckets.addresses import results_at

    pipeline = configured(config).get(PIPELINE)
    here = absolute("out", place) or ""
    with results_at(here, given.get("endpoint")):
        # Whoever names a bucket and --out names a source: nothing asks the bucket for tables then.
        if is_audit(here) or (out is None and is_audit_in_bucket(here)):
            if out is not None:
                raise UsageError(f"{place} is the folder of an audit: leave --out away, or name the source")
            return _export_audit(pipeline, here, given, config)
    if out is None:
        raise UsageError(f"{place} is not the folder of an audit: name a folder for the tables with --out")
    return run_pipeline(pipeline, {**given, "source": here, "out": out}, PIPELINE)


def _export_audit(pipeline: Pipeline, out: str, given: Mapping[str, Any], config: str | None) -> int:
    from pulsar_backlog.config import layered_options, own_defaults
    from pulsar_backlog.jobfiles import load_job
    from pulsar_backlog.sql.recorded import cluster_of

    named = given.get("cluster") or (own_defaults(config) if config else {}).get("cluster")
    cluster = cluster_of(out, None if named is None else str(named))
    of_audit = {"source": source_of(out, cluster), "out": out, "cluster": cluster}
    options = complete_options(JOB, layered_options(pipeline, JOB, {**given, **of_audit}))
    sys.stderr.write(f"{JOB}\n")
    return int(load_job(JOB).main(options))


def is_audit(place: str) -> bool:
    """Whether a place is a folder that holds tables rather than ledgers."""
    return "://" not in place and (Path(place) / "tables" / "entries" / "_delta_log").is_dir()


def is_audit_in_bucket(place: str) -> bool:
    """Whether a place is a bucket that holds tables.

    Raises:
        SourceError: the bucket cannot be asked.
    """
    from pulsar_backlog.ledgers.buckets.addresses import is_output_bucket

    if not is_output_bucket(place):
        return False
    from pulsar_backlog.tableio.delta_rs import open_table
    from pulsar_backlog.tables import TABLES

    return open_table(place, TABLES["entries"]) is not None


def source_of(out: str, cluster: str) -> str:
    """Where the ledgers of an audit lie: what its last scan read.

    Raises:
        UsageError: the audit has no scan of this cluster.
    """
    # Spark starts only when it is needed.
    from pulsar_backlog.runs.runs import scanned_source
    from pulsar_backlog.spark.session import start_session
    from pulsar_backlog.tableio.store import TableStore

    source = scanned_source(TableStore(out, lambda: start_session("pulsar-backlog export", out)), cluster)
    if source is None:
        raise UsageError(f"{out} holds no scan of cluster {cluster!r}: audit it first")
    return source
