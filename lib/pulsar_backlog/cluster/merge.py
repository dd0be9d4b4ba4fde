"""Several documents about one topic -> one state; and what contradicts each other between topics.

Per kind the newest document counts. internalStats is what the owning broker had in memory, internal-info what
the metadata store held: where both say something, internalStats is right.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterable, Mapping
from typing import cast, get_args

from pulsar_backlog.cluster.documents import Document, Kind, SavedLedger
from pulsar_backlog.cluster.values import LedgerRecord, TopicState
from pulsar_backlog.findings import Finding

_EMPTY = {kind: Document(kind, None) for kind in get_args(Kind)}


def merged(named: Iterable[tuple[str, Document]]) -> dict[str, TopicState]:
    """One state per topic, by full name."""
    by_topic: dict[str, list[Document]] = defaultdict(list)
    for topic, document in named:
        by_topic[topic].append(document)
    return {topic: _state(topic, by_topic[topic]) for topic in sorted(by_topic)}


def _state(topic: str, documents: list[Document]) -> TopicState:
    live = _newest(documents, "internalStats")
    stored = _newest(documents, "internal-info")
    stats = _newest(documents, "stats")
    return TopicState(
        topic=topic,
        ledgers=_ledgers(topic, live, stored),
        last_confirmed=live.last_confirmed,
        last_ledger_created_ms=live.last_ledger_created_ms,
        # The metadata store may have been read later than the broker's memory, so its time bounds only itself.
        known_until_ms=live.known_until_ms if live.last_confirmed else stored.known_until_ms,
        publishers=stats.publishers,
        subscriptions=stats.subscriptions,
        state=live.state,
        terminated=live.terminated if live.terminated is not None else stored.terminated,
        terminated_at=live.terminated_at or stored.terminated_at,
        deduplicated=stats.deduplicated,
        cursors=tuple(cursor for document in documents for cursor in document.cursors),
        compacted_ledger_id=live.compacted_ledger_id or stored.compacted_ledger_id,
        open_bytes=live.open_bytes,
        open_ledger_id=_open_ledger_id(live),
        names_all_ledgers=live.names_all_ledgers and stored.names_all_ledgers,
    )


def _open_ledger_id(live: Document) -> int | None:
    last = max(live.ledgers, key=lambda ledger: ledger.ledger_id, default=None)
    return last.ledger_id if last is not None and last.entries is None else None


def _newest(documents: list[Document], kind: Kind) -> Document:
    """The newest of a kind; an empty one when there is none."""
    ranked = [_EMPTY[kind], *(d for d in documents if d.kind == kind)]
    return max(reversed(ranked), key=lambda d: (d.known_until_ms or -1, d.last_confirmed or (-1, -1)))


def _ledgers(topic: str, live: Document, stored: Document) -> tuple[LedgerRecord, ...]:
    """Ledgers of both. One that only internal-info lists is newer than internalStats, or was trimmed since."""
    of_live = {ledger.ledger_id: ledger for ledger in live.ledgers}
    of_stored = {ledger.ledger_id: ledger for ledger in stored.ledgers}
    newest_live = max(of_live, default=-1)
    ids = [*of_live, *(id_ for id_ in of_stored if id_ > newest_live)]
    return tuple(_record(topic, id_, of_live.get(id_), of_stored.get(id_)) for id_ in ids)


def _record(topic: str, ledger_id: int, live: SavedLedger | None, stored: SavedLedger | None) -> LedgerRecord:
    first, second = live or SavedLedger(ledger_id), stored or SavedLedger(ledger_id)
    return LedgerRecord(
        ledger_id=ledger_id,
        topic=topic,
        uuid=second.uuid,
        complete=first.complete if first.complete is not None else second.complete,
        entries=first.entries if first.entries is not None else second.entries,
        size_bytes=first.size_bytes if first.size_bytes is not None else second.size_bytes,
        closed_time_ms=second.closed_time_ms,
    )


def disputes(
    topics: Mapping[str, TopicState], topics_of_ledgers: Mapping[int, str]
) -> tuple[frozenset[int], list[Finding]]:
    """Ledgers that two topics claim, be it in the files or between the files and the stored ledgers.

    A ledger id is unique in a cluster, so this means that two clusters were mixed.
    """
    owners = ChainMap[int, str]({}, cast(dict[int, str], topics_of_ledgers))  # which is only read, and may be large
    between: dict[tuple[str, str], list[int]] = defaultdict(list)
    for state in topics.values():
        for ledger in state.ledgers:
            owner = owners.setdefault(ledger.ledger_id, state.topic)
            if owner != state.topic:
                between[owner, state.topic].append(ledger.ledger_id)
    findings = [
        Finding(
            "S20",
            subject=f"{owner} and {topic}",
            message=f"{owner} and {topic} both claim ledger {ids[0]}{_more(ids)}.",
            topic=topic,
            ledger_id=ids[0],
            count=len(ids),
            reason="read from the saved admin JSON",
            evidence=tuple(f"ledger {id_}" for id_ in ids),
        )
        for (owner, topic), ids in between.items()
    ]
    return frozenset(id_ for ids in between.values() for id_ in ids), findings


def _more(ids: list[int]) -> str:
    return f" and {len(ids) - 1} more" if len(ids) > 1 else ""
