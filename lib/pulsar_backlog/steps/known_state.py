"""The saved state that an audit goes by: what it is given, and of topics that this lacks what an earlier one was given.

An audit that is given less than the one before would otherwise call subscriptions gone that nobody asked about, and be
surer of the log than who knew more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as f

from pulsar_backlog.arguments import scope_of
from pulsar_backlog.cluster.digest import FolderState
from pulsar_backlog.cluster.known_documents import KnownDocuments
from pulsar_backlog.cluster.layouts import migrated_topics
from pulsar_backlog.cluster.required_state import required_state
from pulsar_backlog.cluster.snapshot_index import saved_entries, snapshot_begin_ms, snapshot_globs
from pulsar_backlog.cluster.topic_states import by_topic, together
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.report.earlier import EarlierState
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps.saved_rows import Row, readable, saved_rows
from pulsar_backlog.steps.state_folder import TABLE, state_folder
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.wire.names import SCALABLE_SCHEME

_ANALYSIS = "analyze_subscriptions"


@dataclass(frozen=True)
class _LastState:
    """What was known of a cluster, and of what: the jobs of an audit ask for the same one after the other."""

    inputs: tuple[object, ...]
    topics_of_ledgers: Mapping[int, str]
    state: ClusterState | None


_last: list[_LastState] = []


def state_of(
    context: JobContext,
    topics_of_ledgers: Mapping[int, str],
    documents: Callable[[], KnownDocuments | None] | None = None,
) -> ClusterState | None:
    """What is known of the cluster; None where no audit was ever given saved state.

    Args:
        context: of the job; state that it is given is stored.
        topics_of_ledgers: full topic name by ledger id, as found in the stored ledgers.
        documents: gives what is known of files by earlier audits; who gives it has the folder read.

    Raises:
        UsageError: the folder that it is given says nothing.
    """
    last = _last[0] if _last and documents is None else None
    if last is not None and last.inputs == _inputs(context) and last.topics_of_ledgers == topics_of_ledgers:
        return last.state
    state = _state_of(context, topics_of_ledgers, documents or (lambda: None))
    _last[:] = [_LastState(_inputs(context), dict(topics_of_ledgers), state)]
    return state


def state_by_ledgers(context: JobContext, engine: QueryEngine) -> ClusterState | None:
    """The same, with the topics that `ledgers` names, a table that `engine` knows."""
    rows = engine.rows({"": "SELECT ledger_id, topic FROM ledgers WHERE topic IS NOT NULL"})[""]
    return state_of(context, {row["ledger_id"]: row["topic"] for row in rows})


def _inputs(context: JobContext) -> tuple[object, ...]:
    folder = context.options.admin
    return context.out, context.cluster, folder, state_folder(context).digest, context.version(TABLE)


def _state_of(
    context: JobContext, topics_of_ledgers: Mapping[int, str], documents: Callable[[], KnownDocuments | None]
) -> ClusterState | None:
    folder = context.options.admin
    if folder is None:
        earlier = list(readable(saved_rows(context)))
        return together(None, earlier, topics_of_ledgers) if earlier else None
    given = required_state(Path(folder), topics_of_ledgers, documents)
    others = _store(context, given, folder)
    return together(given, list(readable(others)), topics_of_ledgers) if others else given


def scope_in(context: JobContext) -> Scope:
    """The choice that a job's options make; migrated topics are known as parts of scalable ones from saved layouts."""
    scope = scope_of(context.options)
    if not scope.topics:
        return scope
    rows = (row for row in saved_rows(context, "topic", "state") if row["topic"].startswith(SCALABLE_SCHEME))
    layouts = [saved.layout for saved in readable(rows) if saved.layout is not None]
    return replace(scope, migrated=migrated_topics(layouts))


def _store(context: JobContext, given: ClusterState, folder: str) -> list[Row]:
    """Replace what is known of the topics that are given; rows of the others, and of what names no topic."""
    state_of_folder, topics = state_folder(context), {one.topic for one in by_topic(given) if one.topic}
    earlier = saved_rows(context, "topic", "read_time", "folder_digest")
    newest = max(earlier, key=lambda row: row["read_time"], default=None)
    is_stored = newest is not None and newest["folder_digest"] == state_of_folder.digest
    if is_stored and topics.issuperset(row["topic"] for row in earlier):
        return []
    others = saved_rows(context, but=topics)
    if is_stored:
        return others
    times = _saved_times(Path(folder), state_of_folder)
    of_cluster = readable(row for row in others if not row["topic"])
    new = [
        {
            "cluster": context.cluster, "topic": one.topic, "saved_time": times.get(one.topic, times[""]),
            "read_time": context.started, "folder_digest": state_of_folder.digest, "state": one.to_json(),
        }
        for one in by_topic(together(given, of_cluster, {}))
    ]  # fmt: skip
    deleted = _deleted(others, Path(folder))
    others = [row for row in others if row["topic"] and row["topic"] not in deleted]
    context.replace(TABLE, pa.Table.from_pylist([*others, *new], schema=arrow_schema(TABLES[TABLE])))
    return [*others, *(row for row in new if not row["topic"])]


def _deleted(rows: Iterable[Row], folder: Path) -> set[str]:
    """Topics of older rows that a finished snapshot asked for and did not find; it lists no scalable topics."""
    globs, begun_ms = snapshot_globs(str(folder)), snapshot_begin_ms(folder)
    if globs is None or begun_ms is None:
        return set()
    scope, begun = Scope(globs), datetime.fromtimestamp(begun_ms / 1000, UTC)
    older = {row["topic"] for row in rows if row["saved_time"] is not None and row["saved_time"] < begun}
    saved = {one.topic for one in saved_entries(folder) if one.status != "gone"}
    return {one for one in older - saved if one.startswith("persistent://") and scope.names(one)}


def _saved_times(folder: Path, state_of_folder: FolderState) -> dict[str, datetime | None]:
    """When each topic was saved, by the snapshot's index; under the empty name when the newest file was written."""
    newest = None if state_of_folder.newest_time is None else datetime.fromtimestamp(state_of_folder.newest_time, UTC)
    return {**{one.topic: datetime.fromtimestamp(one.at_ms / 1000, UTC) for one in saved_entries(folder)}, "": newest}


def earlier_state(context: JobContext) -> EarlierState | None:
    """What the last audit went by without having been given it; None where there is nothing."""
    rows = [row for row in saved_rows(context, "topic", "saved_time", "read_time") if row["topic"]]
    newest = max((row["read_time"] for row in rows), default=None)
    is_given = bool(rows) and "admin" in _last_options(context)
    earlier = [row for row in rows if not is_given or row["read_time"] != newest]
    if not earlier:
        return None
    times = [row["saved_time"] for row in earlier]
    read_times = [time for time in times if time is not None]
    saved_ms = round(min(read_times).timestamp() * 1000) if len(read_times) == len(times) else None
    return EarlierState(len(earlier), len(rows), saved_ms, is_given)


def _last_options(context: JobContext) -> Mapping[str, str]:
    """Options that subscriptions were analyzed with last; none where they never were."""
    rows, columns = context.small_rows("runs"), ["job", "started", "options"]
    if rows is None:
        runs = context.table("runs").filter(f.col("job") == _ANALYSIS).select(*columns).toArrow()
    else:
        runs = rows.select(columns)
    of_job = [run for run in runs.to_pylist(maps_as_pydicts="strict") if run["job"] == _ANALYSIS]
    last = max(of_job, key=lambda run: run["started"], default=None)
    return {} if last is None else last["options"]
