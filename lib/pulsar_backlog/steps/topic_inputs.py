"""What jobs read of each topic, as digests: `TopicChanges` compares them with those of the night before.

    assemble_chunks        ledgers, the books of their scans, what left the source; saved state but for cursors
    model_consumers        the same, by the digests that its rows of `chunked_messages` were made with
    analyze_subscriptions  the same, and all saved state of the topic; names of topics that may have its dead letters

Where one topic's rows may hang on another topic, or on no topic that is named, nothing is digested for all topics
(`None`), and all are done each time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from json import dumps

from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cluster.topic_states import SavedTopic, by_topic
from pulsar_backlog.cluster.transactions import Transactions
from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.engines import QueryEngine, query_engine
from pulsar_backlog.steps.damage import MAX_LISTED
from pulsar_backlog.steps.stored_ledgers import StoredLedgers
from pulsar_backlog.steps.topic_changes import Digest, TopicChanges, are_apart, digest_of, digest_of_cluster
from pulsar_backlog.steps.topic_digests import stored_digests
from pulsar_backlog.subscriptions.holdups import whole_topic
from pulsar_backlog.subscriptions.ledger_lengths import ledger_lengths
from pulsar_backlog.wire.names import is_segment

FOLD = "assemble_chunks"
FOLD_TABLES = ("ledgers", "scans", "gone_ledgers", "ledger_facts", "producer_facts", "noted_entries")
"""Tables that tell what the fold reads of each topic."""
_DEAD_LETTERS = "-DLQ"


@dataclass(frozen=True)
class _SavedDigests:
    """Digests of what is said of a topic: of its log; of all; and the time until which nothing followed, in neither."""

    of_log: str | None = None
    all: str | None = None
    until_ms: int | None = None


_NOTHING_SAID = _SavedDigests()
_last: list[tuple[ClusterState, dict[str, _SavedDigests]]] = []  # of the state that the jobs of an audit share


def _saved_digests(state: ClusterState | None) -> dict[str, _SavedDigests]:
    """What saved state says of each topic."""
    if state is None:
        return {}
    if not _last or _last[0][0] is not state:
        _last[:] = [(state, {one.topic: _digests_of(one) for one in by_topic(state) if one.topic})]
    return _last[0][1]


def _digests_of(saved: SavedTopic) -> _SavedDigests:
    until_ms = saved.state.known_until_ms if saved.state else None
    return _SavedDigests(digest_of(saved.of_log.to_json()), digest_of(saved.without_time.to_json()), until_ms)


def changes_of_fold(context: JobContext, engine: QueryEngine, state: ClusterState | None) -> TopicChanges:
    """Topics that the fold does.

    Args:
        context: of the job.
        engine: knows `FOLD_TABLES`.
        state: what is known of the cluster.
    """
    rows = engine.rows({"": engine.sql("log", "topic_inputs", {})})[""]
    words: dict[str, list[str]] = {}
    for row in rows:
        words.setdefault(row["topic"] or "", []).append(f"{row['ledger_id']} {row['words']}")
    is_whole = all(row["topic"] or not row["is_read"] for row in rows)
    is_apart = not _hang_together(words, state) and sum(row["damaged"] for row in rows) <= MAX_LISTED
    inputs = {"settings": _settings(state)}
    of_cluster = digest_of_cluster(context.options, inputs) if is_whole and is_apart else None
    partial = {row["topic"] for row in rows if row["is_partial"]}
    saved = _saved_digests(state)
    now: dict[str, Digest | None] = {}
    for topic, texts in words.items():
        if topic:
            state_of_topic = saved.get(topic, _NOTHING_SAID)
            log = digest_of(of_cluster, *sorted(texts), state_of_topic.of_log)
            now[topic] = None if topic in partial else Digest(log, digest_of(log, str(state_of_topic.until_ms)))
    return TopicChanges.of(context, now, of_cluster)


def open_topics(context: JobContext) -> tuple[set[str], set[str]]:
    """Of the topics that the job folded those that may change as time goes by, and those that were not read whole."""
    with query_engine(context, ("chunked_messages",)) as engine:
        rows = engine.rows({"": engine.sql("chunks", "open_topics", {})})[""]
    return {row["topic"] for row in rows}, {row["topic"] for row in rows if row["is_unread"]}


def changes_of_models(context: JobContext, inputs: Mapping[str, object]) -> TopicChanges:
    """Topics that the consumer models do.

    Args:
        context: of the job.
        inputs: what they go by beside the log.
    """
    folded = stored_digests(context, FOLD)
    of_cluster = digest_of_cluster(context.options, inputs) if are_apart(folded) else None
    now = {topic: _same(digest and digest_of(of_cluster, digest)) for topic, digest in folded.items() if topic}
    return TopicChanges.of(context, now, of_cluster)


def changes_of_analysis(
    context: JobContext, state: ClusterState, ledgers: StoredLedgers, inputs: Mapping[str, object],
    found_cursors: Collection[str],
) -> TopicChanges:  # fmt: skip
    """Topics whose subscriptions are looked at.

    Args:
        context: of the job.
        state: what is known of the cluster.
        ledgers: in the source.
        inputs: what the analysis goes by beside log and saved state.
        found_cursors: topics with a cursor ledger that lies in the source itself, which may have grown.
    """
    folded = stored_digests(context, FOLD)
    is_sure = are_apart(folded) and all(one.topic and one.cursor for one in state.cursor_ledgers)
    ids = [one.ledger_id for one in state.cursor_ledgers]
    is_sure = is_sure and len(set(ids)) == len(ids)
    of_cluster = digest_of_cluster(context.options, {**inputs, "settings": _settings(state)}) if is_sure else None
    owners = ledgers.topics
    lengths = ledger_lengths(state, ledgers.lengths, [])
    dead_letters = sorted(name for name in lengths.keys() | state.topics.keys() if name.endswith(_DEAD_LETTERS))
    saved = _saved_digests(state)
    again = {*found_cursors, *(topic for topic, one in state.topics.items() if _delays(one))}
    now: dict[str, Digest | None] = {}
    for topic in sorted({*folded, *saved} - {""}):
        log, state_of_topic = folded.get(topic, ""), saved.get(topic, _NOTHING_SAID)
        elsewhere = sorted(
            (id_, id_ in ledgers.read) for id_ in lengths.get(topic, ()) if owners.get(id_, topic) != topic
        )
        letters = _with_prefix(dead_letters, f"{whole_topic(topic)}-")
        is_known = log is not None and topic not in again
        every = digest_of(of_cluster, log, state_of_topic.all, dumps([elsewhere, list(letters)]))
        now[topic] = _same(every) if is_known else None
    return TopicChanges.of(context, now, of_cluster)


def _same(digest: str | None) -> Digest | None:
    return (digest and Digest(digest, digest)) or None


def _settings(state: ClusterState | None) -> str:
    return dumps(asdict(state.settings if state else SavedSettings()), sort_keys=True, default=str)


def _hang_together(topics: Iterable[str], state: ClusterState | None) -> bool:
    """Whether there are segments: a message of one may lie whole in another, and the store decides on transactions."""
    named = [*topics, *(state.topics if state else ())]
    if any(is_segment(topic) for topic in named):
        return True
    return state is not None and bool(state.layouts or state.registered or state.transactions != Transactions())


def _delays(topic: TopicState) -> bool:
    """Whether messages of it were delayed: which were, is told by when the state was saved."""
    counts = (one.dispatch for one in (topic.subscriptions or {}).values())
    return any(one is not None and (one.delayed or 0) > 0 for one in counts)


def _with_prefix(names: list[str], prefix: str) -> Iterator[str]:
    for name in names[bisect_left(names, prefix) :]:
        if not name.startswith(prefix):
            return
        yield name
