"""`export`: the messages themselves, from audited tables or straight from a source."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.audit import run_pipeline
from pulsar_backlog.commands.options import ConfigOption, Given, job_options
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import OPTIONS

PIPELINE = "export"


@job_options(
    "out", "topic", "since", "until", "producer", "key", "state", "transactions", "private_keys",
    "private_keys_command", "to", "format", "inline_limit_bytes", "max_message_bytes", "cluster", "endpoint",
    "store_attempts", "store_timeout_seconds", "store_range_bytes", "store_concurrency", "live", "admin_url",
    "max_rate", "min_rate", "token_file", "ca_file", "cert_file", "key_file", "timeout_seconds", "token_without_tls",
    "broker_host", "fail_on", "exit_zero_when_unchanged",
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


def run_export(place: str, out: str | None, given: Mapping[str, object], config: str | None = None) -> int:
    """Export from the folder of an audit, or audit what is needed of a source first; the exit code.

    Raises:
        UsageError: a source without `--out`, or an audit that does not say where its source is.
    """
    from pulsar_backlog.config import configured, job_argv
    from pulsar_backlog.jobfiles import load_job

    pipeline = configured(config).get(PIPELINE)
    here = absolute("out", place) or ""
    # Whoever names a bucket and --out names a source: nothing asks the bucket for tables then.
    if not is_audit(here) and not (out is None and is_audit_in_bucket(here)):
        if out is None:
            raise UsageError(f"{place} is not the folder of an audit: name a folder for the tables with --out")
        return run_pipeline(pipeline, {**given, "source": here, "out": out}, PIPELINE)
    if out is not None:
        raise UsageError(f"{place} is the folder of an audit: leave --out away, or name the source")
    source = source_of(here, str(given.get("cluster") or pipeline.options.cluster))
    argv = job_argv(pipeline, "export_messages", {**given, "source": source, "out": here})
    sys.stderr.write("export_messages\n")
    return int(load_job("export_messages").main(argv))


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
    from pulsar_backlog.storage.delta_rs import open_table
    from pulsar_backlog.tables import TABLES

    return open_table(place, TABLES["entries"]) is not None


def source_of(out: str, cluster: str) -> str:
    """Where the ledgers of an audit lie: what its last scan read.

    Raises:
        UsageError: the audit has no scan of this cluster.
    """
    # Spark starts only when it is needed.
    from pulsar_backlog.storage.runs import scanned_source
    from pulsar_backlog.storage.session import start_session

    source = scanned_source(start_session("pulsar-backlog export", out), out, cluster)
    if source is None:
        raise UsageError(f"{out} holds no scan of cluster {cluster!r}: name the cluster of the audit with --cluster")
    return source
