"""Why a subscription does not drain, from the counts of one moment and from what its log holds.

    kind                 holds when
    statistics_wrong     more entries are unacknowledged than there are: so after a reset of the cursor
    compaction           the broker's own subscription: stored since the topic was compacted last
    no_consumers         nobody is connected; `replicated_behind` where the subscription is replicated
    unacked_limit        the limit of unacknowledged messages stops all consumers
    pinned_to_dead       Shared: entries count as sent, and no connected consumer has them
    headless_chunk       Shared: a chunk without its first waits in replay, and what is stored after it waits too
    small_queue_stall    Shared, 4.0: chunks wait in replay, consumers with small queues hold the rest and have permits
    last_chunk_only      Shared: the same with larger queues: an old client asked for the last chunk alone
    cursor_inside        the cursor stands inside a message, of which no client gets the rest
    open_transaction     consumers have permits, and what comes next is of a transaction that nothing ends
    draining_hashes      Key_Shared: an old owner holds entries of hashes that others took over
    join_would_block     Key_Shared: a consumer holds chunks of messages whose end is still to come
    leaked_permits       nobody has permits, and the log holds last chunks that clients drop with their permits
    no_permits           nobody has permits: applications do not receive
    with_consumers       consumers have what is left, and have not acknowledged it
    delayed              entries whose time has not come
    dead_letters_left    only last chunks are acknowledged, and there is a dead-letter topic

All that hold are told, in this order. Counts are of one moment: a subscription in full motion may look so for an
instant. What a second snapshot repeats is sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_backlog.cluster.saved_cursors import COMPACTION, SavedSubscription
from pulsar_backlog.cluster.saved_dispatch import SavedConsumer, SavedDispatch
from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.subscriptions.holdup_words import HOLDUP_KINDS
from pulsar_backlog.terms import Position, Sureness, position_text

SMALL_QUEUE = 10
"""With receiver queues below it, several consumers of a broker 4.0 can stall."""
MOST_NAMED = 3
_PARTITION = re.compile(r"-partition-\d+$", re.ASCII)
_NAME_LENGTH = 60


@dataclass(frozen=True)
class LogEvidence:
    """What the log says of a subscription's unacknowledged entries.

    Attributes:
        headless_at: a chunk that waits without its first before it; None when there is none.
        dropped_last_chunks: chunk sets that no client completes, whose last chunk is not acknowledged.
        last_only: whole messages of which only the last chunk is acknowledged.
        inside: messages that mark-delete is inside of.
        arriving: chunked messages whose end may still come.
        dead_letter_topic: that of the subscription; None when there is none.
        open_transaction_at: first unacknowledged entry of a transaction that no marker ends; None when there is none.
        read_position: next entry to read, as saved; None when nothing says.
    """

    headless_at: Position | None = None
    dropped_last_chunks: int = 0
    last_only: int = 0
    inside: int = 0
    arriving: int = 0
    dead_letter_topic: str | None = None
    open_transaction_at: Position | None = None
    read_position: Position | None = None


NO_EVIDENCE = LogEvidence()


@dataclass(frozen=True)
class Holdup:
    """One reason why a subscription does not drain.

    Attributes:
        kind, code, remedy: as in `HoldupKind`.
        sureness: `certain`, `likely` or `cannot_tell`.
        evidence: what says so, in numbers.
        advice: what it means and what to do.
    """

    kind: str
    code: str | None
    sureness: Sureness
    evidence: str
    remedy: str
    advice: str


def holdups(
    saved: SavedSubscription | None, log: LogEvidence = NO_EVIDENCE, broker: tuple[int, int] | None = None
) -> tuple[Holdup, ...]:
    """The reasons that hold; none where nothing waits, or where the statistics were not saved.

    Args:
        saved: what `stats` says.
        log: what the log says.
        broker: major and minor version; None when it is not known.
    """
    if saved is None or saved.dispatch is None or (saved.dispatch.backlog or 0) <= 0:
        return ()
    moment = _Moment(saved, saved.dispatch, log, broker)
    return tuple(_of_compaction(moment) if saved.name == COMPACTION else _all(moment))


def may_wait_for_transaction(saved: SavedSubscription | None) -> bool:
    """Whether entries wait though consumers have permits and nothing is put aside: as an open transaction makes it."""
    if saved is None or saved.dispatch is None or saved.name == COMPACTION:
        return False
    moment = _Moment(saved, saved.dispatch, NO_EVIDENCE, None)
    return moment.waiting > 0 and moment.permits > 0 and not moment.in_replay


def dead_letter_topics(topic: str, subscription: str) -> tuple[str, ...]:
    """Names that clients give the dead-letter topic of a subscription; that of a partition may be of all partitions."""
    return tuple(dict.fromkeys(f"{name}-{subscription}-DLQ" for name in (topic, whole_topic(topic))))


def whole_topic(topic: str) -> str:
    """The name without the number of a partition."""
    return _PARTITION.sub("", topic)


@dataclass(frozen=True)
class _Moment:
    saved: SavedSubscription
    counts: SavedDispatch
    log: LogEvidence
    broker: tuple[int, int] | None

    @property
    def backlog(self) -> int:
        return self.counts.backlog or 0

    @property
    def consumers(self) -> tuple[SavedConsumer, ...]:
        return self.counts.consumers

    @property
    def with_consumers(self) -> int:
        """Entries that connected consumers have."""
        return sum(max(one.unacked or 0, 0) for one in self.consumers)

    @property
    def unacked(self) -> int:
        return max(self.counts.unacked or 0, 0)

    @property
    def waiting(self) -> int:
        """Entries that were sent to nobody."""
        return self.backlog - max(self.unacked, self.with_consumers)

    @property
    def in_replay(self) -> int:
        return max(self.counts.in_replay or 0, 0)

    @property
    def permits(self) -> int:
        """Most that one consumer has."""
        return max((one.permits or 0 for one in self.consumers), default=0)


def _all(moment: _Moment) -> Iterator[Holdup]:
    yield from _connection(moment)
    if moment.log.inside:
        evidence = f"mark-delete lies inside {counted(moment.log.inside, 'message')}"
        yield _made("cursor_inside", "likely", evidence)
    if moment.consumers:
        yield from _shared(moment) if moment.saved.type == "Shared" else ()
        yield from _open_transaction(moment)
        yield from _draining(moment)
        yield from _permits(moment)
        yield from _with_consumers(moment)
    yield from _delayed(moment)
    yield from _dead_letters(moment)


def _made(kind: str, sureness: Sureness, evidence: str, who: str = "") -> Holdup:
    words = HOLDUP_KINDS[kind]
    return Holdup(kind, words.code, sureness, evidence, words.remedy, words.advice.replace("{who}", who))


def _connection(moment: _Moment) -> Iterator[Holdup]:
    backlog = counted(moment.backlog, "entry")
    if moment.unacked > moment.backlog:
        wrong = f"{counted(moment.unacked, 'entry')} unacknowledged of a backlog of {moment.backlog:,}"
        yield _made("statistics_wrong", "cannot_tell", wrong)
    if not moment.consumers and moment.saved.replicated:
        yield _made("replicated_behind", "likely", f"{backlog} and no consumer here")
    elif not moment.consumers:
        yield _made("no_consumers", "certain", f"{backlog} and no consumer")
    if moment.counts.blocked or (moment.consumers and all(one.blocked for one in moment.consumers)):
        unacked = max(moment.unacked, moment.with_consumers)
        yield _made("unacked_limit", "certain", f"{counted(unacked, 'entry')} unacknowledged")


def _shared(moment: _Moment) -> Iterator[Holdup]:
    void = moment.unacked - moment.with_consumers
    if void > 0 and moment.unacked <= moment.backlog:
        evidence = f"{counted(void, 'entry')} of {moment.unacked:,} unacknowledged are with no connected consumer"
        yield _made("pinned_to_dead", "likely", evidence)
    at, replay = moment.log.headless_at, f"{counted(moment.in_replay, 'entry')} in replay"
    if at is not None:
        yield _made("headless_chunk", "likely", f"a chunk without its first at {position_text(at)}; {replay}")
    elif moment.in_replay and moment.permits > 0 and not moment.with_consumers:
        yield _made("headless_chunk", "likely", f"{replay}, and consumers that have permits and nothing else")
    elif moment.in_replay and moment.permits > 0:
        yield _without_pin(moment)


def _open_transaction(moment: _Moment) -> Iterator[Holdup]:
    at = moment.log.open_transaction_at
    if at is None or not may_wait_for_transaction(moment.saved):
        return
    stands = moment.log.read_position == at
    evidence = (
        f"{counted(moment.waiting, 'entry')} to be sent, {counted(moment.permits, 'permit')}, and a transaction that "
        f"no marker ends from {position_text(at)} on{', where the cursor reads next' if stands else ''}"
    )
    yield _made("open_transaction", "likely" if stands else "cannot_tell", evidence)


def _of_compaction(moment: _Moment) -> Iterator[Holdup]:
    yield _made("compaction", "certain", f"{counted(moment.backlog, 'entry')} since the topic was compacted last")


def _without_pin(moment: _Moment) -> Holdup:
    """Chunks in replay that have lost their pin, while consumers hold the first ones."""
    behind = max(moment.waiting - moment.in_replay, 0)
    evidence = (
        f"{counted(moment.in_replay, 'entry')} in replay, {moment.with_consumers:,} with consumers of whom one has "
        f"{counted(moment.permits, 'permit')}, {counted(behind, 'entry')} behind"
    )
    may_be_small = len(moment.consumers) > 1 and moment.permits < SMALL_QUEUE and moment.broker in (None, (4, 0))
    is_small = moment.permits <= SMALL_QUEUE // 2  # a consumer that waits has at least half of its queue
    if may_be_small and (is_small or behind):
        return _made("small_queue_stall", "likely" if is_small else "cannot_tell", evidence)
    return _made("last_chunk_only", "cannot_tell" if may_be_small else "likely", evidence)


def _draining(moment: _Moment) -> Iterator[Holdup]:
    hashes = moment.counts.draining_hashes or 0
    if hashes <= 0:
        if moment.saved.type == "Key_Shared" and moment.log.arriving and moment.with_consumers:
            arriving = counted(moment.log.arriving, "chunked message")
            evidence = f"{arriving} may still be arriving, {moment.with_consumers:,} unacknowledged with consumers"
            yield _made("join_would_block", "likely", evidence)
        return
    owners = [visible(one.name, _NAME_LENGTH) for one in moment.consumers if one.draining_hashes]
    who = ", ".join(owners[:MOST_NAMED]) or "a consumer"
    evidence = f"{counted(hashes, 'hash', 'hashes')} of {who} drain; {counted(moment.in_replay, 'entry')} in replay"
    yield _made("draining_hashes", "likely", evidence, who)


def _permits(moment: _Moment) -> Iterator[Holdup]:
    if moment.waiting <= 0 or moment.permits > 0 or any(one.permits is None for one in moment.consumers):
        return
    evidence = f"no permits, {counted(moment.waiting, 'entry')} to be sent, {moment.with_consumers:,} with consumers"
    dropped = moment.log.dropped_last_chunks
    if dropped:
        yield _made(
            "leaked_permits", "likely", f"{evidence}; {counted(dropped, 'incomplete message')} with a last chunk"
        )
    else:
        yield _made("no_permits", "likely", evidence)


def _with_consumers(moment: _Moment) -> Iterator[Holdup]:
    if moment.saved.type in ("Exclusive", "Failover") and moment.permits > 0:  # of them brokers count nothing
        evidence = f"{counted(moment.backlog, 'entry')}, and the active consumer has permits"
        yield _made("with_consumers", "cannot_tell", evidence)
    elif moment.with_consumers and moment.with_consumers >= moment.backlog:
        yield _made("with_consumers", "likely", f"{counted(moment.with_consumers, 'entry')} with consumers, none waits")


def _delayed(moment: _Moment) -> Iterator[Holdup]:
    delayed = moment.counts.delayed or 0
    if delayed > 0:
        yield _made(
            "delayed", "certain" if delayed >= moment.waiting else "likely", f"{counted(delayed, 'entry')} delayed"
        )


def _dead_letters(moment: _Moment) -> Iterator[Holdup]:
    topic, count = moment.log.dead_letter_topic, moment.log.last_only
    if count and topic:
        evidence = f"of {counted(count, 'whole message')} only the last chunk is acknowledged"
        yield _made("dead_letters_left", "likely", evidence, visible(topic))
