"""What subscriptions are stuck on: judged, clients asked what they make of it where that matters, judged again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pulsar_backlog.findings import count_sentences
from pulsar_backlog.frames.subscriptions.reopened import (
    ANSWERS_DDL,
    AnswerTask,
    Questions,
    Stops,
    questions_of,
    stops_of,
)
from pulsar_backlog.frames.subscriptions.stall_join import StallTask
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine, query_engine
from pulsar_backlog.sql.task_rows import TaskRows
from pulsar_backlog.steps.chunk_rows import POSITION, name_chunk_entries, packed_model_rows
from pulsar_backlog.steps.finding_rows import case_of, counted, noticed_findings
from pulsar_backlog.steps.subscription_acks import name_topics
from pulsar_backlog.subscriptions.analysed import COMPACTION
from pulsar_backlog.subscriptions.holdups import LogEvidence
from pulsar_backlog.subscriptions.stall_kinds import CODES, COMPACTION_TRUNCATION, MARK_DELETE_INSIDE
from pulsar_backlog.subscriptions.stall_words import compaction_advice
from pulsar_backlog.subscriptions.states import States
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT

_OF_THE_LOG = frozenset({"C27"})
"""Findings of a topic whoever subscribes: `chunk_findings` counts them."""
COUNTED = count_sentences(*sorted({*CODES.values()} - _OF_THE_LOG), "K12")
_COMPACTION_REASON = (
    "compaction works entry by entry; whether a later message with the key replaced it is not looked at"
)
_STALLS_DDL = ", ".join(f"{c.name} {c.type}{'' if c.nullable else ' not null'}" for c in TABLES["stalls"].columns)
_DELAYED = pa.schema(
    [("topic", pa.string()), ("chunk_uuid", pa.string())]
    + [(name, pa.int64()) for name in ("publish_time_ms", "deliver_at_ms")]
)
_HORIZONS = pa.schema([("topic", pa.string()), ("ledger_id", pa.int64()), ("entry_id", pa.int64())])
_NO_LOSSES = pa.schema(
    [
        ("topic", pa.string()), ("chunk_uuid", pa.string()), ("publish_time_ms", pa.int64()),
        (
            "losses",
            pa.list_(
                pa.struct(
                    [
                        ("subscription", pa.string()), ("after_reset", pa.bool_()), ("model", pa.string()),
                        ("outcome", pa.string()), ("reason", pa.string()),
                    ]
                )
            ),
        ),
    ]
)  # fmt: skip


def name_stalls(
    engine: QueryEngine, readers: States, horizons: Mapping[str, Position], models: Sequence[str], cluster: str,
    delayed: Sequence[Mapping[str, object]] = (),
) -> None:  # fmt: skip
    """Make the relation `new_stalls`: rows of `stalls`.

    Models are asked about subscriptions on which a message that is whole is stuck, and about no others.

    Args:
        engine: knows `noted_entries`, `chunks`, `chunked_messages` and `ledger_facts`.
        readers: subscriptions by topic.
        horizons: how far each topic is compacted.
        models: as by `models_to_ask`.
        cluster: name of the cluster.
        delayed: as by `delayed_chunks`.
    """
    engine.register("delayed_chunks", pa.Table.from_pylist(list(delayed), schema=_DELAYED))
    engine.register("no_losses", pa.Table.from_pylist([], schema=_NO_LOSSES))
    ends = engine.rows({"ends": engine.sql("subscriptions", "log_ends", {})})["ends"]
    log_ends = {row["topic"]: (row["ledger_id"], row["entry_id"]) for row in ends}
    _judge(engine, "judged_stalls", readers, log_ends, cluster, None)
    stuck = engine.sql("subscriptions", "stuck", {"inside": portable_literal(MARK_DELETE_INSIDE.name)})
    questions = questions_of(engine.rows({"stuck": stuck})["stuck"], readers)
    every = ["SELECT * FROM judged_stalls", _compacted(engine, horizons, cluster)]
    if questions:
        states = {topic: tuple(one.state for one in of if one.reset_to is None) for topic, of in questions.items()}
        stops = _ask(engine, questions, models)
        _judge(engine, "stalls_again", states, log_ends, cluster, stops)
        places = [{"topic": topic, "subscription": one.view.name} for topic, of in states.items() for one in of]
        engine.register("judged_again", pa.Table.from_pylist(places))
        same = "j.topic = s.topic AND j.subscription = s.subscription"
        every[0] = f"SELECT s.* FROM judged_stalls AS s WHERE NOT EXISTS (SELECT 1 FROM judged_again AS j WHERE {same})"  # noqa: S608 - own words
        every.append("SELECT * FROM stalls_again")
    columns = ", ".join(TABLES["stalls"].column_names())
    union = " UNION ALL ".join(f"SELECT {columns} FROM (\n{query}\n) AS part" for query in every)  # noqa: S608 - own words
    engine.materialize("new_stalls", union)


def stall_rows(engine: QueryEngine) -> Rows:
    """Rows of `stalls`, from `new_stalls`."""
    return engine.table("SELECT * FROM new_stalls", TABLES["stalls"], {})


def log_evidence(engine: QueryEngine) -> dict[tuple[str, str], LogEvidence]:
    """What `new_stalls` say of why subscriptions do not drain, by topic and name; the others have none."""
    rows = engine.rows({"evidence": engine.sql("subscriptions", "evidence", {})})["evidence"]
    return {
        (row["topic"], row["subscription"]): LogEvidence(
            None if row["ledger_id"] is None else (row["ledger_id"], row["entry_id"]),
            *(row[name] for name in ("dropped", "last_only", "inside", "arriving")),
        )
        for row in rows
    }


def open_transactions(context: JobContext, topics: Sequence[str]) -> dict[str, list[Position]]:
    """Where transactions begin that no marker of their topic ends, in order; with no topics nothing is read."""
    if not topics:
        return {}
    names = ", ".join(map(portable_literal, topics))
    values: dict[str, int | str] = {"topics": names, "commit": TXN_COMMIT, "abort": TXN_ABORT}
    with query_engine(context, ("entries",)) as engine:
        rows = engine.rows({"open": engine.sql("subscriptions", "open_transactions", values)})["open"]
    begins: dict[str, list[Position]] = {}
    for row in rows:
        begins.setdefault(row["topic"], []).append((row["ledger_id"], row["entry_id"]))
    return begins


def delayed_chunks(context: JobContext, topics: Sequence[str]) -> list[dict[str, Any]]:
    """Chunked messages that were not due yet when their topic's state was saved; with no topics nothing is read."""
    if not topics:
        return []
    names = ", ".join(map(portable_literal, topics))
    with query_engine(context, ("entries", "saved_states")) as engine:
        return engine.rows({"delayed": engine.sql("subscriptions", "delayed_chunks", {"topics": names})})["delayed"]


def findings_of_stalls(context: JobContext, engine: QueryEngine) -> Rows:
    """Rows of `findings` about what `new_stalls` and `acks` show."""
    places = engine.sql("subscriptions", "places", {"code": case_of("one", CODES)})
    return noticed_findings(context, engine, counted(engine, COUNTED, places))


def _judge(
    engine: QueryEngine, name: str, states: States, log_ends: Mapping[str, Position], cluster: str, stops: Stops | None
) -> None:
    """Make a relation of stalls of some subscriptions; copies of a uuid meet in one task."""
    name_topics(engine, f"topics_of_{name}", states)
    ends = {topic: log_ends[topic] for topic in states if topic in log_ends}
    task = StallTask(engine.share((dict(states), ends, stops)), cluster)
    query = engine.sql(
        "subscriptions",
        "stall_rows",
        {"topics": f"topics_of_{name}", "losses": "no_losses" if stops is None else "losses"},
    )
    rows = TaskRows(query, ("topic", "chunk_uuid"), ("publish_time_ms", *POSITION))
    engine.materialize_tasks(name, rows, task, _STALLS_DDL)


def _ask(engine: QueryEngine, questions: Questions, models: Sequence[str]) -> Stops:
    """Make the relation `losses`, and give what stops models."""
    name_chunk_entries(engine)
    name_topics(engine, "asked_topics", questions)
    task = AnswerTask(engine.share((dict(questions), tuple(models))))
    rows = packed_model_rows(engine)
    query = f"SELECT * FROM (\n{rows.query}\n) AS every WHERE topic IN (SELECT topic FROM asked_topics)"  # noqa: S608 - own words
    engine.materialize_tasks("answers", TaskRows(query, rows.by, rows.order), task, ANSWERS_DDL)
    engine.materialize("losses", engine.sql("subscriptions", "losses", {}))
    return stops_of(engine.rows({"stops": engine.sql("subscriptions", "stops", {})})["stops"])


def _compacted(engine: QueryEngine, horizons: Mapping[str, Position], cluster: str) -> str:
    """SQL: rows of `stalls` for keyed chunked messages that compaction cut."""
    places = [{"topic": topic, "ledger_id": at[0], "entry_id": at[1]} for topic, at in horizons.items()]
    engine.register("horizons", pa.Table.from_pylist(places, schema=_HORIZONS))
    values: dict[str, int | str] = {
        "cluster": portable_literal(cluster),
        "subscription": portable_literal(COMPACTION),
        "code": portable_literal(COMPACTION_TRUNCATION.code or ""),
        "kind": portable_literal(COMPACTION_TRUNCATION.name),
        "action": portable_literal(COMPACTION_TRUNCATION.remedy or "none"),
        "reason": portable_literal(_COMPACTION_REASON),
        "advice": portable_literal(compaction_advice()),
    }
    return engine.sql("subscriptions", "compacted", values)
