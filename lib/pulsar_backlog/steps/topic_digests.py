"""What a job made its rows of each topic of, as `topic_digests` has it, see `topic_changes`."""

from __future__ import annotations

from pulsar_backlog.runs.context import JobContext

TABLE = "topic_digests"


def stored_digests(context: JobContext, job: str, *, of_all: bool = False) -> dict[str, str | None]:
    """What a job made its rows of each topic of; None where that is not known. `of_all`: what concerns all topics."""
    few = context.small_rows(TABLE)
    if few is not None:
        columns = (few[name].to_pylist() for name in ("job", "topic", "digest"))
        return {topic: digest for of, topic, digest in zip(*columns, strict=True) if of == job}
    from pulsar_backlog.sql.duck_values import portable_literal  # noqa: PLC0415 - DuckDB, where topics are many
    from pulsar_backlog.sql.engines import query_engine  # noqa: PLC0415

    query = f"SELECT topic, digest FROM {TABLE} WHERE job = {portable_literal(job)}"  # noqa: S608 - quoted
    with query_engine(context, (TABLE,)) as engine:
        rows = engine.rows({"": f"{query} AND topic = ''" if of_all else query})[""]
    return {row["topic"]: row["digest"] for row in rows}


def is_finished(context: JobContext) -> bool:
    """Whether the job's last run that began to write its tables came to its end."""
    return stored_digests(context, context.job, of_all=True).get("", "") is not None
