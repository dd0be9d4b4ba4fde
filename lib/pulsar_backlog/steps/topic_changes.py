"""Which topics a job does: those of which it reads something else than when it made their rows.

`topic_digests` says what rows were made of. Its row without a topic is taken back before the first table is written,
and comes with the digests after the last one: a run that is ended in between leaves none, and the next one does all.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from pulsar_backlog.cluster.topic_states import of_topics
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.counting import counted
from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import fingerprint
from pulsar_backlog.steps.topic_digests import TABLE, stored_digests
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

MAX_SHARE = 3
"""Where more than one topic in so many changed, all are done: then it costs less."""
MAX_TOPICS = 10_000
"""Topics that are done by themselves, at most: their names stand in queries and are looked for in every file."""
ALL = "all"
"""Stands for what concerns all topics where it cannot be told: the next run that has something new does all of them."""
_SCOPE = ("admin", "topic", "ledger", "since", "until")
"""Options that choose ledgers and saved state, which are digested topic by topic."""


class Digest(NamedTuple):
    """What a job reads of a topic.

    Attributes:
        settled: of all but the time until which nothing followed, which decides nothing once all messages are whole.
        timed: of that time too.
    """

    settled: str
    timed: str


def digest_of(*words: str | None) -> str:
    """One digest of texts, or of digests; the same whatever engine gave them."""
    return hashlib.blake2b(
        "\0".join(one if one is not None else "\1" for one in words).encode(), digest_size=16
    ).hexdigest()


def digest_of_cluster(options: Options, inputs: Mapping[str, object]) -> str:
    """Digest of what concerns all topics: options that decide a result, this release, and what else a job names."""
    return fingerprint(options.model_copy(update=dict.fromkeys(_SCOPE)), dict(inputs))


def are_apart(stored: Mapping[str, str | None]) -> bool:
    """Whether a job, whose digests these are, made its rows topic by topic, and came to its end."""
    return stored.get("") not in (None, ALL)


@dataclass(frozen=True)
class TopicChanges:
    """What a job has to do.

    Attributes:
        context: the job's, that sees and replaces the rows of what it has to do.
        topics: what is done, with topics that are gone; None for all.
        now: what is read of each topic that is there; None where it is done each time.
        of_cluster: what is read of all topics; None where the next run does all.
    """

    context: JobContext
    topics: frozenset[str] | None
    now: Mapping[str, Digest | None]
    of_cluster: str | None

    @classmethod
    def of(cls, context: JobContext, now: Mapping[str, Digest | None], of_cluster: str | None) -> TopicChanges:
        """Compare what is read with what rows were made of."""
        before = stored_digests(context, context.job)
        topics = None
        if of_cluster is not None and before.get("") == of_cluster:
            new = {topic for topic, digest in now.items() if digest is None or before.get(topic) not in digest}
            changed = new | (before.keys() - now.keys() - {""})
            if len(changed) <= min(len(now) // MAX_SHARE, MAX_TOPICS):
                topics = frozenset(changed)
        return cls(replace(context, topics=topics), topics, now, of_cluster)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to be done."""
        return self.topics is not None and not self.topics

    def of_topics(self, state: ClusterState | None) -> ClusterState | None:
        """What is said of the topics that are done."""
        return state if state is None or self.topics is None else of_topics(state, self.topics)

    def begin(self) -> None:
        """Say that rows are made anew, before any is."""
        if self.topics is not None:
            sys.stderr.write(f"{self.context.job}: {len(self.topics):,} of {counted(len(self.now), 'topic')} changed\n")
        if not self.is_empty and stored_digests(self.context, self.context.job, of_all=True).get("") is not None:
            self._replace({"": None}, [""])

    def finish(self, open_topics: Collection[str] = (), unsure: Collection[str] = ()) -> int:
        """Say what the rows were made of, after the last one; how many topics were done.

        Args:
            open_topics: topics on which something may change as time goes by.
            unsure: topics that the next run does again.
        """
        if self.is_empty:
            return 0
        done = self.now.keys() if self.topics is None else self.topics & self.now.keys()
        digests: dict[str, str | None] = {"": self.of_cluster or ALL}
        for topic in done:
            digest = None if topic in unsure else self.now[topic]
            digests[topic] = digest and (digest.timed if topic in open_topics else digest.settled)
        self._replace(digests, None if self.topics is None else ["", *self.topics])
        return len(done)

    def _replace(self, digests: Mapping[str, str | None], topics: Collection[str] | None) -> None:
        of_all = {"cluster": self.context.cluster, "job": self.context.job}
        rows = [{**of_all, "topic": topic, "digest": digests[topic]} for topic in sorted(digests)]
        part = self.context.slice.where(job=self.context.job)
        part = part if topics is None else part.where(topic=topics)
        new = pa.Table.from_pylist(rows, schema=arrow_schema(TABLES[TABLE]))
        self.context.store.replace(TABLES[TABLE], new, part)
