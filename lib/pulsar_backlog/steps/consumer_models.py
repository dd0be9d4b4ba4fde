"""The models of consumers run over the topics that changed: `jobs/model_consumers.py` where there is news."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.chunks.clients.models import parse_model
from pulsar_backlog.frames.clients.models import ModelContext, ModelTask
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings
from pulsar_backlog.runs.runs import JobResult
from pulsar_backlog.sql.engines import MAX_TASK_BYTES, query_engine
from pulsar_backlog.sql.task_tables import replace_by_tasks
from pulsar_backlog.steps.chunk_rows import name_chunk_entries, packed_model_rows
from pulsar_backlog.steps.model_findings import TABLES_ASKED, findings_of_models
from pulsar_backlog.steps.topic_inputs import changes_of_models


def run_models(
    context: JobContext, digest: str, tables: Sequence[str], models: tuple[str, ...], read_batch: int | None
) -> JobResult:
    """Run the models over the topics that changed, write outcomes, forecasts and findings.

    Args:
        context: of the job.
        digest: of its inputs.
        tables: that it reads.
        models: their names.
        read_batch: of the broker's dispatcher; None where it is not known.
    """
    topics = _ledger_topics(context, models)
    changes = changes_of_models(context, {"models": models, "read_batch": read_batch, "topics": sorted(topics.items())})
    changes.begin()
    model_context = ModelContext(context.cluster, models, topics, read_batch)
    rows = {} if changes.is_empty else _model(changes.context, tables, model_context)
    return JobResult(digest, rows=rows | {"topic_digests": changes.finish()})


def _model(context: JobContext, tables: Sequence[str], model_context: ModelContext) -> dict[str, int]:
    with query_engine(context, tables, MAX_TASK_BYTES) as engine:
        name_chunk_entries(engine)
        make = ModelTask(engine.share(model_context))
        rows = replace_by_tasks(
            context, engine, packed_model_rows(engine), make, ("consumer_outcomes", "client_forecasts")
        )
    with query_engine(context, TABLES_ASKED) as engine:
        replace_findings(context, findings_of_models(context, engine))
    return rows


def _ledger_topics(context: JobContext, models: Sequence[str]) -> dict[int, str]:
    """Topics of the few ledgers that the models' positions name."""
    settings = [parse_model(name) for name in models]
    named = {at[0] for s in settings for at in (*s.reconnect_after, *s.restart_after, *((s.start,) if s.start else ()))}
    if not named:
        return {}
    ids = ", ".join(map(str, sorted(named)))
    query = f"SELECT DISTINCT ledger_id, topic FROM ledgers WHERE ledger_id IN ({ids}) AND topic IS NOT NULL"  # noqa: S608 - numbers
    with query_engine(context, ("ledgers",)) as engine:
        return {row["ledger_id"]: row["topic"] for row in engine.rows({"topics": query})["topics"]}
