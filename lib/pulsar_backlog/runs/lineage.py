"""OpenLineage events of a job: what it read and wrote, with schemas, rows and how the rules of data quality went.

They go where openlineage-python is told to send them (`OPENLINEAGE_URL`, `OPENLINEAGE_CONFIG`,
`OPENLINEAGE__TRANSPORT__...`); where none of these is set nothing is made. Inside an Airflow task nothing is sent:
Airflow tells of its tasks itself. What cannot be sent is one line on standard error, and the job goes on.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pulsar_backlog import __version__
from pulsar_backlog.foreign_text import MAX_SENTENCE, visible
from pulsar_backlog.known_secrets import remember_secret
from pulsar_backlog.runs.endings import outcome_of
from pulsar_backlog.tables import TABLES

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, OutputDataset

    from pulsar_backlog.runs.context import JobContext

PRODUCER = f"urn:pulsar-backlog:{__version__}"
_VARIABLES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
_TRANSPORT = "OPENLINEAGE__TRANSPORT__"
_TIMEOUT_SECONDS = 5.0
_RULES = "quality_results"


@dataclass
class Lineage:
    """What a job says of itself when it is done.

    Attributes:
        rows: rows written, by table; None while it has not said so.
    """

    rows: Mapping[str, int] | None = field(default=None)


@contextmanager
def lineage_of(context: JobContext, inputs: Collection[str]) -> Iterator[Lineage]:
    """Tell that a job starts, and how it ended when the block does; a job that finds nothing new wrote nothing.

    Args:
        context: of the job.
        inputs: tables that it reads.
    """
    lineage = Lineage()
    if not is_wanted(os.environ):
        yield lineage
        return
    sender = _Sender(context, inputs)
    sender.send("START", {})
    try:
        yield lineage
    except BaseException as error:
        sender.send("FAIL", {}, outcome_of(error)[1])
        raise
    sender.send("COMPLETE", lineage.rows or {})


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether events are to be sent."""
    if environment.get("OPENLINEAGE_DISABLED", "").lower() == "true" or "AIRFLOW_CTX_DAG_ID" in environment:
        return False
    return any(environment.get(name) for name in _VARIABLES) or any(name.startswith(_TRANSPORT) for name in environment)


def dataset_name(place: str) -> tuple[str, str]:
    """Namespace and name of a folder, bucket or service, as OpenLineage's naming has them."""
    parts = urlsplit(place)
    if parts.scheme in ("", "file"):
        return "file", parts.path or place
    scheme = {"s3a": "s3", "pulsar+ssl": "pulsar"}.get(parts.scheme, parts.scheme)
    return f"{scheme}://{parts.netloc}", parts.path.strip("/") or "/"


class _Sender:
    """Makes the events of one run, and sends them."""

    def __init__(self, context: JobContext, inputs: Collection[str]) -> None:
        self._context, self._inputs = context, inputs
        self._client: OpenLineageClient | None = None

    def send(self, state: str, rows: Mapping[str, int], fault: str | None = None) -> None:
        """Send one event; what stops it is one line on standard error."""
        try:
            self._emit(state, rows, fault)
        except Exception as error:
            words = visible(f"{type(error).__name__}: {error}", MAX_SENTENCE)
            sys.stderr.write(f"OpenLineage: the event {state} of {self._context.job} was not sent: {words}\n")

    def _emit(self, state: str, rows: Mapping[str, int], fault: str | None) -> None:
        from openlineage.client import event_v2 as events  # noqa: PLC0415 - a second, for the few who ask for it
        from openlineage.client.facet_v2 import error_message_run, job_type_job, processing_engine_run  # noqa: PLC0415

        context = self._context
        run_facets: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(__version__, "pulsar-backlog")
        }
        if fault is not None:
            run_facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(visible(fault, MAX_SENTENCE), "PYTHON")
        kind = job_type_job.JobTypeJobFacet("BATCH", "PULSAR_BACKLOG", "JOB")
        self._connected().emit(
            events.RunEvent(
                eventTime=datetime.now(UTC).isoformat(),
                producer=PRODUCER,
                run=events.Run(context.run_id, run_facets),
                job=events.Job("pulsar-backlog", f"{context.cluster}.{context.job}", {"jobType": kind}),
                eventType=events.RunState(state),
                inputs=list(self._read(is_done=state == "COMPLETE")),
                outputs=[self._written(name, count) for name, count in rows.items()],
            )
        )

    def _connected(self) -> OpenLineageClient:
        if self._client is None:
            from openlineage.client import OpenLineageClient  # noqa: PLC0415 - as above
            from openlineage.client.transport.http import HttpConfig, HttpTransport  # noqa: PLC0415

            logging.getLogger("openlineage").setLevel(logging.CRITICAL)  # it quotes what it was given
            url, key = os.environ.get("OPENLINEAGE_URL"), os.environ.get("OPENLINEAGE_API_KEY")
            remember_secret(key)
            if url is None:
                self._client = OpenLineageClient()
            else:  # by itself the client copies these variables to others, and leaves them there
                settings: dict[str, Any] = {"url": url, "timeout": _TIMEOUT_SECONDS, "retry": {"total": 1}}
                settings["endpoint"] = os.environ.get("OPENLINEAGE_ENDPOINT", "api/v1/lineage")
                if key:
                    settings["auth"] = {"type": "api_key", "apiKey": key}
                self._client = OpenLineageClient(transport=HttpTransport(HttpConfig.from_dict(settings)))
        return self._client

    def _read(self, *, is_done: bool) -> Iterator[InputDataset]:
        from openlineage.client.event_v2 import InputDataset  # noqa: PLC0415 - as above

        if self._context.options.source is not None:
            yield InputDataset(*dataset_name(self._context.options.source))
        rules = _assertions(self._context) if is_done and self._context.job == "check_quality" else {}
        for name in self._inputs:
            facets = {"dataQualityAssertions": rules[name]} if name in rules else {}
            yield InputDataset(*self._place(name), facets={"schema": _schema(name)}, inputFacets=facets)

    def _written(self, name: str, count: int) -> OutputDataset:
        from openlineage.client.event_v2 import OutputDataset  # noqa: PLC0415 - as above
        from openlineage.client.facet_v2 import output_statistics_output_dataset  # noqa: PLC0415

        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=count)
        return OutputDataset(
            *self._place(name), facets={"schema": _schema(name)}, outputFacets={"outputStatistics": statistics}
        )

    def _place(self, table: str) -> tuple[str, str]:
        return dataset_name(f"{self._context.out.rstrip('/')}/tables/{table}")


def _schema(name: str) -> Any:
    from openlineage.client.facet_v2 import schema_dataset  # noqa: PLC0415 - as above

    columns = TABLES[name].columns
    return schema_dataset.SchemaDatasetFacet([
        schema_dataset.SchemaDatasetFacetFields(one.name, one.type, one.comment) for one in columns
    ])  # fmt: skip


_RULED = {"ledger_summary": "ledgers", "topic_summary": "chunked_messages", "audit_summary": "findings"}
"""The table that a summary of data quality is mostly of."""


def _assertions(context: JobContext) -> dict[str, Any]:
    """How the rules went, by table."""
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality  # noqa: PLC0415 - as above

    results = context.small_rows(_RULES)
    rows: Iterable[Mapping[str, Any]] = results.to_pylist() if results is not None else ()
    by_table: dict[str, list[Any]] = {}
    for row in rows:
        severity = "error" if row["severity"] == "error" else "warn"
        one = quality.Assertion(
            row["expectation"], row["passed"], severity=severity, name=row["rule"], description=row["sentence"]
        )
        by_table.setdefault(_RULED.get(row["summary"], "findings"), []).append(one)
    return {name: quality.DataQualityAssertionsDatasetFacet(assertions) for name, assertions in by_table.items()}
