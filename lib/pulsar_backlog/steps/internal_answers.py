"""What internal ledgers say together with the log: findings by views of conf/sql/, only where a view can have rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pulsar_backlog.findings import count_sentences
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.sql.views import named_in
from pulsar_backlog.steps.finding_rows import counted, noticed_findings

REPLICATORS = "replicators"
"""Trigger of answers that hang on no internal ledger: cursors of replicators that were saved."""
DELAYED = "delayed"
"""Likewise: subscriptions of which brokers said that they delay messages."""


@dataclass(frozen=True)
class _Answer:
    """A view whose rows are findings.

    Attributes:
        view: of conf/sql/.
        triggers: tables of internal ledgers, `REPLICATORS` or `DELAYED`; while all are empty no row matters.
        query: its rows as `frames.codes.CODED`.
    """

    view: str
    triggers: tuple[str, ...]
    query: str


def _coded(code: str, view: str, place: str, sureness: str, reason: str, where: str) -> str:
    return (
        f"SELECT '{code}' AS code, topic, {place}, {sureness} AS sureness, {reason} AS reason "  # noqa: S608 - own words
        f"FROM {view} WHERE {where}"
    )


_OLDEST = "oldest_ledger_id AS ledger_id, oldest_entry_id AS entry_id"
_LIKELY = "CASE sureness WHEN 'cannot_tell' THEN 'cannot_tell' ELSE 'likely' END"
_COUNTED = count_sentences("S63", "S64", "S65", "S66", "S67", "S68", "S69", "S75", "S76", "S77", "C55")
_ANSWERS = (
    _Answer(
        "schema_use", ("schema_versions",),
        _coded(
            "S63", "schema_use", "first_ledger_id AS ledger_id, CAST(NULL AS bigint) AS entry_id",
            "CASE WHEN verdict = 'lost' THEN 'certain' ELSE 'likely' END", "reason",
            "verdict IN ('lost', 'unlisted', 'stored_later')",
        ),
    ),
    _Answer(
        "compaction_horizons", ("compacted_ledgers",),
        _coded(
            "S64", "compaction_horizons", "ledger_id, CAST(NULL AS bigint) AS entry_id", "'certain'",
            "CASE verdict WHEN 'moved_back' THEN 'the log still holds what lies between both' "
            "ELSE 'the log that is here begins behind it: what lies between is in no view' END",
            "verdict IN ('moved_back', 'moved_back_past_log')",
        ),
    ),
    _Answer(
        "messages_stored_twice", ("deduplication_snapshots",),
        _coded(
            "S65", "messages_stored_twice", "last_ledger_id AS ledger_id, last_entry_id AS entry_id", "'certain'",
            "'the snapshot of deduplication knew it before the copy was stored'", "verdict = 'passed_deduplication'",
        ),
    ),
    _Answer(
        "pending_acknowledgements", ("pending_acks",),
        _coded("S66", "pending_acknowledgements", "ledger_id, entry_id", "'likely'", "reason", "verdict = 'stuck'"),
    ),
    _Answer(
        "transaction_contradictions", ("transaction_log", "transaction_snapshots"),
        _coded(
            "S67", "transaction_contradictions", "marker_ledger_id AS ledger_id, marker_entry_id AS entry_id",
            "'likely'", "reason", "TRUE",
        ),
    ),
    _Answer(
        "delayed_messages", ("delayed_buckets",),
        _coded(
            "S68", "delayed_messages", "ledger_id, entry_id", "'certain'",
            "CASE state WHEN 'due' THEN 'it is due' ELSE 'it is not due yet' END", "index_state = 'index_lost'",
        ),
    ),
    _Answer(
        "confirmed_cut_off", ("cut_off_entries",),
        _coded("S69", "confirmed_cut_off", "ledger_id, entry_id", "grade", "reason", "verdict = 'missing'"),
    ),
    _Answer(
        "replication", (REPLICATORS,),
        _coded(
            "S75", "replication", _OLDEST, _LIKELY, "concat('replicator ', replicator)",
            "verdict = 'passed_over' AND oldest_time < saved_time - INTERVAL 10 MINUTE",
        )
        + " UNION ALL "
        + _coded(
            "S76", "replication", _OLDEST, _LIKELY, "concat('replicator ', replicator)",
            "verdict = 'behind' AND oldest_time < saved_time - INTERVAL 1 HOUR",
        ),
    ),
    _Answer(
        "delayed_backlogs", (DELAYED,),
        _coded(
            "C55", "delayed_backlogs", "CAST(NULL AS bigint) AS ledger_id, CAST(NULL AS bigint) AS entry_id",
            "'certain'", "concat(subscription, ': ', reason)", "verdict = 'delayed_until' AND broker_says",
        ),
    ),
    _Answer(
        "replicated_subscriptions", (REPLICATORS,),
        _coded(
            "S77", "replicated_subscriptions",
            "last_snapshot_ledger_id AS ledger_id, last_snapshot_entry_id AS entry_id", "'likely'",
            "concat(CAST(requests_since AS string), ' requests since the last snapshot')", "verdict = 'unanswered'",
        ),
    ),
)  # fmt: skip


@contextmanager
def answers_of(context: JobContext, rows: Mapping[str, int]) -> Iterator[Rows | None]:
    """Rows of `findings`; None where no view is queried.

    Args:
        context: of the job.
        rows: of each table of internal ledgers, how many there are now.
    """
    rows = {**rows, **_of_subscriptions(context)}
    applicable = [one for one in _ANSWERS if any(rows[table] for table in one.triggers)]
    if not applicable or not context.has("entries"):
        yield None
        return
    names = {name for one in applicable for name in named_in(one.view)[0]}
    with query_engine(context, names) as engine:
        for one in applicable:
            engine.create_view(one.view, engine.sql("sql", one.view, {}))
        yield noticed_findings(context, engine, counted(engine, _COUNTED, *(one.query for one in applicable)))


def _of_subscriptions(context: JobContext) -> dict[str, int]:
    """Of `REPLICATORS` and `DELAYED` whether there are any: 1 or 0."""
    if not context.has("subscriptions"):
        return {REPLICATORS: 0, DELAYED: 0}
    rows = context.small_rows("subscriptions")
    if rows is not None:
        kinds = {one["kind"] for some in rows["holdups"].to_pylist() for one in some or ()}
        return {REPLICATORS: int("replicator" in rows["kind"].to_pylist()), DELAYED: int("delayed" in kinds)}
    frame = context.table("subscriptions")
    return {
        REPLICATORS: frame.filter("kind = 'replicator'").limit(1).count(),
        DELAYED: frame.filter("exists(holdups, one -> one.kind = 'delayed')").limit(1).count(),
    }
