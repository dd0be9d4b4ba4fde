"""How a job runs: options in, exit code out, and a row in `runs` for what it did.

Exit codes: 0 clean; 1 findings at or above `--fail-on`; 2 usage, configuration or environment; 3 runtime error; 4
something was unreadable or left unread as asked; 99 nothing new to do; 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pulsar_backlog import __version__
from pulsar_backlog.arguments import JobArguments, parse_options
from pulsar_backlog.known_secrets import remember_environment
from pulsar_backlog.ledgers.buckets.addresses import results_at
from pulsar_backlog.ledgers.live.run_folder import reading_of
from pulsar_backlog.options import Options
from pulsar_backlog.options.printed import Run, audit_options, options_of, record_of
from pulsar_backlog.progress import saying_waits
from pulsar_backlog.runs.apart import check_apart
from pulsar_backlog.runs.claims import claimed
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.endings import ending, environment_faults_as_usage_errors
from pulsar_backlog.runs.exit_codes import exit_code
from pulsar_backlog.runs.lineage import Lineage, lineage_of
from pulsar_backlog.runs.result_file import Attempt, attempt
from pulsar_backlog.runs.run_folder import one_run, run_folder
from pulsar_backlog.spark.choice import needs_session
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tableio.table_versions import check_versions, record_versions
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terminal import guard_streams
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_INCOMPLETE, EXIT_UNCHANGED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BESIDE_AUDITS = ("export_messages", "plan_repair", "notify_changes", "maintain_tables")
"""Jobs that change nothing that `result.json` tells."""
_PLACE_OPTIONS = ("source", "out", "private_keys_command", "key")
_NOT_INPUTS = (
    "fail_on", "known", "report_url", "metrics", "exit_zero_when_unchanged", "out", "dry_run",
    "store_attempts", "store_timeout_seconds", "store_range_bytes", "store_concurrency", "max_rate", "min_rate",
    "token_file", "ca_file", "cert_file", "key_file", "timeout_seconds", "token_without_tls", "broker_host",
)  # fmt: skip

_AUDIT_COLUMNS = ["job", "started", "source", "options"]


@dataclass(frozen=True)
class JobResult:
    """What a job's body says it did.

    Attributes:
        fingerprint: digest of the inputs, as `fingerprint` makes it.
        changed: False when the same inputs were worked through before.
        rows: rows written, by table.
        bytes_read: bytes read from the source.
        judges_all: whether the exit code is that of all jobs' findings; so the last job of a pipeline speaks for it.
        topics: topics whose findings ask for the exit code; None for all.
    """

    fingerprint: str
    changed: bool = True
    rows: dict[str, int] = field(default_factory=dict)
    bytes_read: int = 0
    judges_all: bool = False
    topics: Collection[str] | None = None


Body = Callable[[JobContext], JobResult]


def run_job(
    job: str,
    parser: argparse.ArgumentParser,
    given: JobArguments,
    body: Body,
    look_first: Callable[[Options], None] = lambda _: None,
    inputs: Collection[str] = (),
) -> int:
    """Run a job's body and turn what happens into an exit code; a failure is one sentence on standard error.

    The local folders that the job writes to are its own until it ends.

    Args:
        job: its name.
        parser: of its command line.
        given: what it is started with.
        body: what it does.
        look_first: called before anything is made or started; raises `UsageError` where the work would be in vain.
        inputs: tables that it reads, for lineage.
    """
    guard_streams()
    remember_environment(os.environ)
    command = f"pulsar-backlog {job}"

    def run() -> int:
        options = parse_options(parser, given)  # before Spark: a wrong option is told at once
        check_apart(options.source, options.out)
        check_apart(options.source, options.to, "--to")
        look_first(options)
        context = JobContext(lambda: _begin(command, options), job, options, now())
        with (
            results_at(options.out, options.endpoint, options.source),
            claimed(options.out, command),
            claimed(options.to, command, "--to"),
            one_run(),
            attempt(None if job in _BESIDE_AUDITS else options.out, job, context.cluster, context.started) as made,
            environment_faults_as_usage_errors(options.out, options.to),  # so that the result says it in the same words
            lineage_of(context, inputs) as lineage,
        ):
            for place in (options.out, options.to):
                check_versions(place)
            return _carry_out(context, body, made, lineage)

    return ending(command, run)


def _begin(command: str, options: Options) -> SparkSession:
    from pulsar_backlog.spark.session import start_session  # noqa: PLC0415 - Spark: a job without news does without

    others = (options.to, options.exported, options.earlier)
    return start_session(command, options.out, others, reads_entries=False)


def _carry_out(context: JobContext, body: Body, made: Attempt | None, lineage: Lineage) -> int:
    began = time.monotonic()
    with context.resources, saying_waits(context.job, _wait):
        result = body(context)
    if not result.changed:
        if made is not None:
            made.take_back()
        return EXIT_CLEAN if context.options.exit_zero_when_unchanged else EXIT_UNCHANGED
    lineage.rows = result.rows
    whose = None if result.judges_all else context.job
    code = exit_code(context, whose, result.topics)
    _record(context, result, time.monotonic() - began, code)
    for place in (context.options.out, context.options.to):
        record_versions(place)
    return code


def _wait() -> str | None:
    """What the run waits for, in words: the longest wait."""
    folder = run_folder(make=False)
    return next(iter(reading_of(folder).waits), None) if folder is not None else None


def now() -> datetime:
    """The moment, UTC; the only clock of the jobs."""
    return datetime.now(UTC)


def fingerprint(options: Options, inputs: dict[str, object]) -> str:
    """Digest of a job's inputs, its options that decide the result, and this version with those of the contracts.

    So tables of an earlier release are made again, with what it did not know.
    """
    decisive = options.model_dump(exclude=set(_NOT_INPUTS), exclude_none=True)
    contracts = {table.name: table.version for table in TABLES.values()}
    text = json.dumps([__version__, contracts, decisive, inputs], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def is_unchanged(context: JobContext, digest: str) -> bool:
    """Whether the job's last recorded run had the same inputs and left nothing unread."""
    version = context.version("runs")
    last = None if version < 0 else _last_run(context, version)
    return last is not None and last["fingerprint"] == digest and last["exit_code"] != EXIT_INCOMPLETE


def _last_run(context: JobContext, version: int) -> Mapping[str, Any] | None:
    """The last recorded run of the job, with `fingerprint` and `exit_code`."""
    rows = context.small_rows("runs")
    if rows is None:
        return _last_runs(context.store, context.cluster, version).get(context.job)
    runs = rows.select(["job", "fingerprint", "exit_code"]).append_column(
        "started_us",
        rows["started"].cast(pa.int64()),  # of times pyarrow makes objects by an import of pandas
    )
    mine = [run for run in runs.to_pylist() if run["job"] == context.job]
    return max(mine, key=itemgetter("started_us"), default=None)


@lru_cache(maxsize=1)
def _last_runs(store: TableStore, cluster: str, version: int) -> dict[str, dict[str, Any]]:
    """The last recorded run of each job; asked once while nothing is recorded, as in an audit without news.

    Args:
        store: of the tables.
        cluster: whose runs.
        version: of the table `runs`.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

    last = f.max_by(f.struct("fingerprint", "exit_code"), "started").alias("last")
    runs = store.frame(TABLES["runs"]).filter(f.col("cluster") == cluster).groupBy("job").agg(last)
    return {row["job"]: row["last"].asDict() for row in runs.collect()}


def audit_of(context: JobContext) -> Run:
    """The audit that made the tables of a job's cluster, as commands name it."""
    rows = context.small_rows("runs")
    if rows is None:
        runs = [row.asDict(recursive=True) for row in context.table("runs").select(*_AUDIT_COLUMNS).collect()]
    else:
        runs = [{**row, "options": dict(row["options"])} for row in rows.select(_AUDIT_COLUMNS).to_pylist()]
    runs.sort(key=itemgetter("started"))
    source = next((str(run["source"]) for run in reversed(runs) if run["job"] == "scan_entries"), "SOURCE")
    options = {**options_of(audit_options(runs)), "cluster": context.cluster}
    return Run(source, context.out, options, context.is_only_cluster())


def scanned_source(store: TableStore, cluster: str) -> str | None:
    """Where the last recorded scan of a cluster read its ledgers; None where there is none."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

    runs = store.frame(TABLES["runs"])
    scans = runs.filter((f.col("cluster") == cluster) & (f.col("job") == "scan_entries"))
    last = scans.orderBy(f.col("started").desc()).select("source").first()
    return None if last is None else str(last["source"])


def versions(context: JobContext) -> dict[str, str]:
    """Versions of this program and what it stands on; where no session is needed, Spark's is that of its Python part.

    What spark-submit started has a session even if no task did: YARN fails an application that made none.
    """
    import pyspark  # noqa: PLC0415 - a job without news does without

    return {
        "pulsar-backlog": __version__,
        "spark": context.spark.version if needs_session() else pyspark.__version__,
        "pyspark": pyspark.__version__,
        "python": platform.python_version(),
    }


def _record(context: JobContext, result: JobResult, seconds: float, code: int) -> None:
    row = {
        "cluster": context.cluster,
        "run_id": context.run_id,
        "job": context.job,
        "started": context.started,
        "seconds": round(seconds, 3),
        "source": context.options.source or context.out,
        "fingerprint": result.fingerprint,
        "options": record_of(context.options, _PLACE_OPTIONS),
        "rows": result.rows,
        "bytes_read": result.bytes_read,
        "versions": versions(context),
        "exit_code": code,
    }
    context.store.replace(TABLES["runs"], [row], Slice.of(run_id=context.run_id))
