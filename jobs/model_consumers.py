"""What real clients would do with the stored chunks: outcomes by publication and model, forecasts by topic and model.

Reads: `noted_entries`, `chunked_messages`, `ledgers`; `saved_states` for what one read of the brokers takes at most.
Writes: `consumer_outcomes`, `client_forecasts` and its `findings`; `topic_digests`: topics that were not folded anew
keep their rows.
Guarantees: every publication has one outcome per model, every topic with chunks one forecast per model. A topic
partition is read in position order as a stream, chunk rows only.
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C is one sentence from here on, before the rest is imported
    from pulsar_backlog.interrupts import end_at_once

    end_at_once()

import argparse
from collections.abc import Sequence

from pulsar_backlog.arguments import JobArguments, job_parser
from pulsar_backlog.chunks.clients.models import DEFAULT_MODELS, parse_model
from pulsar_backlog.chunks.dispatch.brokers import broker_for
from pulsar_backlog.frames.clients.models import ModelContext, ModelTask
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import replace_findings
from pulsar_backlog.runs.runs import JobResult, fingerprint, is_unchanged, run_job
from pulsar_backlog.sql.engines import MAX_TASK_BYTES, query_engine
from pulsar_backlog.sql.task_tables import replace_by_tasks
from pulsar_backlog.steps.chunk_rows import name_chunk_entries, packed_model_rows
from pulsar_backlog.steps.known_state import settings_in
from pulsar_backlog.steps.model_findings import TABLES_ASKED, findings_of_models
from pulsar_backlog.steps.topic_changes import is_finished
from pulsar_backlog.steps.topic_inputs import changes_of_models

JOB = "model_consumers"
INPUTS = ("noted_entries", "chunked_messages", "ledgers")


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(given: JobArguments = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), given, model, inputs=INPUTS)


def model(context: JobContext) -> JobResult:
    """Run the models over the topics that changed, write outcomes, forecasts and findings."""
    models = context.options.model or DEFAULT_MODELS
    batches = broker_for(settings_in(context)).read_batches
    read_batch = batches[0] if len(batches) == 1 else None
    inputs: dict[str, object] = {"read_batch": read_batch, **{name: context.version(name) for name in INPUTS}}
    digest = fingerprint(context.options, inputs)
    if is_unchanged(context, digest) and is_finished(context):
        return JobResult(digest, changed=False)
    topics = _ledger_topics(context, models)
    changes = changes_of_models(context, {"models": models, "read_batch": read_batch, "topics": sorted(topics.items())})
    changes.begin()
    rows = (
        {} if changes.is_empty else _model(changes.context, ModelContext(context.cluster, models, topics, read_batch))
    )
    return JobResult(digest, rows=rows | {"topic_digests": changes.finish()})


def _model(context: JobContext, model_context: ModelContext) -> dict[str, int]:
    with query_engine(context, INPUTS, MAX_TASK_BYTES) as engine:
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


if __name__ == "__main__":
    run_process(main)
