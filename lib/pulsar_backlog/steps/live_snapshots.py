"""A snapshot of live topics at both ends of an audit: the first says what is read, and what cursors were then.

Both stay in `OUT/live/begin` and `OUT/live/end`, as `pulsar-backlog snapshot` saves them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from glob import escape
from pathlib import Path
from typing import Any

from pulsar_backlog.arguments import live_of
from pulsar_backlog.cluster.admin_http import AdminHttp
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.admin_rest import AdminRest, parse_topic, wanted_scalable_topics, wanted_topics
from pulsar_backlog.cluster.snapshot import (
    FetchedLayout,
    fetch_layouts,
    named_files,
    save_cluster,
    save_layouts,
    save_ledgers,
    save_topics,
)
from pulsar_backlog.cluster.snapshot_index import INDEX_NAME, Entry, SnapshotIndex, open_index
from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.findings.kinds import SNAPSHOT
from pulsar_backlog.ledgers.live.place import LivePlace, access_of
from pulsar_backlog.ledgers.live.run_folder import RunFolder
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.options import Options
from pulsar_backlog.protocol.extents import extents_of
from pulsar_backlog.runs.claims import claimed
from pulsar_backlog.tableio.places import local_out

_FOLDER, _BEGIN, _END = "live", "begin", "end"
_PARALLEL = 4


def with_snapshot(options: Options) -> dict[str, object]:
    """What becomes of the options of an audit that reads live topics and names no snapshot: one is taken and named.

    Raises:
        UsageError: there is no such topic, or the cluster cannot be reached.
    """
    live = live_of(options)
    if live is None or options.admin is not None:
        return {}
    out = local_out(options.out or "")
    if out is None:
        raise UsageError(
            f"--out {options.out} is not a local folder, and the audit keeps its snapshot of the cluster there: "
            f"make one with {SNAPSHOT}, and name its folder with --admin"
        )
    folder = out / _FOLDER / _BEGIN
    with claimed(options.out, "pulsar-backlog audit"):
        try:
            topics = take_snapshot(live, options.topic or ("*",), folder)
            LivePlace(live).knock(topics[0])
        except SourceError as error:
            raise UsageError(str(error)) from None
    return {"admin": str(folder), **_named(topics, options.topic)}


def _named(topics: Sequence[str], globs: tuple[str, ...] | None) -> dict[str, tuple[str, ...]]:
    """The option `topic` that names also the partitions of topics that were named without a number."""
    if globs is None:
        return {}
    scope = Scope(globs)
    return {"topic": (*globs, *(escape(topic) for topic in topics if not scope.names(topic)))}


def findings_of_end(options: Options, live: Live | None = None) -> list[Finding]:
    """Take the second snapshot of an audit that took a first one; what moved between them.

    Args:
        options: of the audit.
        live: cluster that it reads, where more is known of it than the options say.
    """
    live = live or live_of(options)
    begin = Path(options.admin or "")
    if live is None or begin.parts[-2:] != (_FOLDER, _BEGIN):
        return []
    end = begin.with_name(_END)
    try:
        topics = take_snapshot(live, options.topic or ("*",), end, may_be_none=True)
    except (SourceError, UsageError) as error:
        words = f"The cluster could not be asked again after its entries were read: {error}"
        return [Finding("S02", "live", words, incomplete=True)]
    after = read_cluster_state(end, {}).topics if topics else {}
    return list(_moved(read_cluster_state(begin, {}), after))


def take_snapshot(live: Live, globs: Sequence[str], folder: Path, *, may_be_none: bool = False) -> list[str]:
    """Save a snapshot in place of an earlier one; the topics and segments that it is of.

    Raises:
        UsageError: no topic matches, or none can be asked.
        SourceError: a broker cannot be reached.
    """
    run = RunFolder(Path(live.run_folder) if live.run_folder else None, live.timeout_seconds)
    with closing(AdminHttp(live.admin_url, access_of(live), patience=run.patience(live.admin_url))) as http:
        rest = AdminRest(http)
        layouts, without = fetch_layouts(rest, wanted_scalable_topics(rest, globs))
        topics = sorted({*wanted_topics(rest, globs), *(name for one in layouts for name in one.migrated)})
        segments = [name for one in layouts for name in one.segments]
        if not topics and not segments and not without and not may_be_none:
            raise UsageError(f"no topic on {http.url} matches {' or '.join(globs)}: see --topic; * matches every topic")
        if (folder / INDEX_NAME).is_file():
            shutil.rmtree(folder)
        if not topics and not layouts and not without:
            return []
        index = open_index(folder, http.url, tuple(globs), _now_ms())
        save_cluster(rest, folder, sorted({parse_topic(name).namespace for name in topics}))
        save_layouts(folder, layouts)
        for topic, why in without.items():
            index.add(Entry(topic, "failed", _now_ms(), note=f"{topic}: {why}"))
        _save_segments(live, folder, index, layouts)
        for _ in save_topics(rest, folder, index, named_files(topics), _PARALLEL, _now_ms):
            pass
        index.finish(_now_ms())
    if index.entries and len(index.failed) == len(index.entries):
        raise UsageError(str(index.failed[0].note))
    return [*topics, *segments] if topics or segments else [*without]


def _save_segments(live: Live, folder: Path, index: SnapshotIndex, layouts: Sequence[FetchedLayout]) -> None:
    """Find the ledgers of segments by readers, and save them. Readers leave nothing behind, and make no topic.

    A broker that does not answer in time is asked no more: its segments are noted as not saved.
    """
    place, why = LivePlace(live), ""
    for one in layouts:
        ledgers: dict[str, tuple[tuple[int, int], ...]] = {}
        for segment in one.segments:
            at_ms = _now_ms()
            if why:
                index.add(Entry(segment, "failed", at_ms, note=why))
                continue
            try:
                extents = extents_of(lambda name=segment: place.connect(name, live.timeout_seconds), segment)  # type: ignore[misc]
            except SourceError as error:
                index.add(Entry(segment, "failed", at_ms, note=str(error)))
                why = str(error) if error.reason == "unreachable" else ""
                continue
            if extents:
                ledgers[segment] = tuple((extent.ledger_id, extent.entries) for extent in extents)
        if ledgers:
            name = save_ledgers(folder, one.topic, ledgers)
            for segment in ledgers:
                index.add(Entry(segment, "saved", _now_ms(), (name,)))


def _moved(begin: ClusterState, end: Mapping[str, TopicState]) -> Iterator[Finding]:
    changes = {topic: _change(before, end.get(topic)) for topic, before in begin.topics.items()}
    sentences = [f"{topic}: {words}" for topic, words in changes.items() if words]
    if sentences:
        words = f"Topics that changed while they were read: {len(sentences)}."
        yield Finding("S41", "live", words, count=len(sentences), evidence=tuple(sentences[:MAX_EVIDENCE]))


def _change(before: TopicState, after: TopicState | None) -> str:
    """What changed on a topic, in words; empty when nothing did."""
    if after is None:
        return "it is gone"
    sentences = []
    if before.last_confirmed != after.last_confirmed and after.last_confirmed:
        sentences.append("last entry now {}:{}".format(*after.last_confirmed))
    cursors = {cursor.name: (cursor.mark_delete, cursor.ranges) for cursor in _cursors(before)}
    moved = [one.name for one in _cursors(after) if cursors.get(one.name) != (one.mark_delete, one.ranges)]
    if moved:
        sentences.append(f"cursors that moved: {len(moved)}")
    return ", ".join(sentences)


def _cursors(topic: TopicState) -> Iterator[Any]:
    return (cursor for cursor in topic.cursors if cursor.source == "stats_internal")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
