"""A snapshot of a live cluster: admin JSON of each topic in one folder, as `audit --admin` reads it.

```
DIR/.snapshot.jsonl                              what is done; the rest of a killed snapshot is made by starting again
DIR/cluster.json                                 version and settings of the broker that answered
DIR/<tenant>__<namespace>.namespace.json         policies of a namespace
DIR/<tenant>__<namespace>__<topic>.scalable.json layout of a scalable topic (5.0)
DIR/<tenant>__<namespace>__<topic>.schemas.json  all versions of its schemas; of a partitioned topic beside partition 0
DIR/<tenant>__<namespace>__<topic>.segments.json ledgers of its segments, where an audit of live topics found them
DIR/<tenant>__<namespace>__<topic>.<kind>.json   internalStats (with ledger metadata), internal-info, stats, policies
```
Parts of file names are percent-encoded. A name that no file system takes, or that differs from another one only in the
case of letters, is replaced by a digest, and the file then names its topic as the JSON of partitioned topics does.

It only reads. Nothing that could be a secret is saved: of settings and policies, those that decide what an audit says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pulsar_backlog.cluster.admin_http import AdminError
from pulsar_backlog.cluster.admin_rest import AdminRest, parse_topic
from pulsar_backlog.cluster.documents import is_topic
from pulsar_backlog.cluster.fields import Fields
from pulsar_backlog.cluster.layouts import Layout, layout_of
from pulsar_backlog.cluster.snapshot_index import Entry, SnapshotIndex, write_file
from pulsar_backlog.cluster.snapshot_policies import broker_settings, namespace_policies, topic_policies
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.json_text import to_json
from pulsar_backlog.wire.names import SCALABLE_SCHEME

_DOCUMENTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("internalStats", {"metadata": "true"}),
    ("internal-info", {}),
    ("stats", {"getPreciseBacklog": "true", "subscriptionBacklogSize": "true"}),
)
_MAX_NAME_BYTES = 220
"""File systems take 255 bytes; the kind and the suffix of an unfinished file need some."""


@dataclass(frozen=True)
class TopicFiles:
    """A topic and how its files are named.

    Attributes:
        stem: file name up to the kind.
        is_plain: whether the stem names the topic; otherwise each document says it itself.
    """

    topic: str
    stem: str
    is_plain: bool

    def wrapped(self, content: bytes) -> bytes:
        """The document as it is saved."""
        if self.is_plain:
            return content
        return to_json({"partitions": {self.topic: json.loads(content)}}).encode()


def named_files(topics: Iterable[str]) -> list[TopicFiles]:
    """A stem for each topic, no two of which are the same on a file system that ignores case."""
    taken: set[str] = set()
    files = []
    for topic in topics:
        name = parse_topic(topic)
        tenant, namespace, *rest = [*name.namespace.split("/", 2), name.local]
        parts = [
            _encoded(tenant).replace("_", "%5F"),
            _encoded(namespace).replace("_", "%5F"),
            _encoded("/".join(rest)),
        ]
        stem = "__".join(parts)
        is_plain = len(stem.encode()) <= _MAX_NAME_BYTES and stem.casefold() not in taken
        if not is_plain:
            stem = f"topic-{hashlib.sha256(topic.encode()).hexdigest()[:24]}"
        taken.add(stem.casefold())
        files.append(TopicFiles(topic, stem, is_plain))
    return files


def _encoded(text: str) -> str:
    encoded = quote(text, safe="", errors="surrogatepass")
    return f"%2E{encoded[1:]}" if encoded.startswith(".") else encoded  # hidden files are not read


def save_cluster(rest: AdminRest, folder: Path, namespaces: Iterable[str]) -> list[str]:
    """Save what is not about one topic; what could not be had, in a sentence each: an audit can do without."""
    missing: list[str] = []
    write_file(folder / "cluster.json", _json({"snapshotKind": "cluster", **broker_settings(rest, missing)}))
    for namespace in namespaces:
        policies = namespace_policies(rest, namespace, missing)
        name = "__".join(_encoded(part).replace("_", "%5F") for part in namespace.split("/"))
        body = {"snapshotKind": "namespace", "namespace": namespace, **policies}
        write_file(folder / f"{name}.namespace.json", _json(body))
    return missing


@dataclass(frozen=True)
class FetchedLayout:
    """The layout of a scalable topic, as bytes and as what they say; None where that is no layout."""

    topic: str
    content: bytes
    layout: Layout | None

    @property
    def segments(self) -> list[str]:
        """Full names of its segments that are `segment://...`."""
        return [one.name for one in self.layout.segments if not one.is_legacy] if self.layout else []

    @property
    def migrated(self) -> list[str]:
        """Full names of the topics, or partitions, that it was migrated from."""
        names = [one.name for one in self.layout.segments if one.is_legacy] if self.layout else []
        return [name for name in names if is_topic(name)]


def fetch_layouts(rest: AdminRest, topics: Iterable[str]) -> tuple[list[FetchedLayout], dict[str, str]]:
    """Layouts of scalable topics; and by topic why one could not be had.

    A layout is all that the admin API tells of them: ledgers and cursors of segments stand in the metadata store alone.
    """
    fetched: list[FetchedLayout] = []
    missing: dict[str, str] = {}
    for topic in topics:
        try:
            content = rest.layout(topic)
        except AdminError as error:
            missing[topic] = str(error)
            continue
        if len(_stem(topic).encode()) > _MAX_NAME_BYTES:
            missing[topic] = "its name is too long for a file"
            continue
        one = FetchedLayout(topic, content, layout_of(Fields(json.loads(content), [], topic), topic, topic))
        if one.layout is None:
            missing[topic] = "what the broker answers is no layout of a scalable topic"
        fetched.append(one)
    return fetched, missing


def save_layouts(folder: Path, layouts: Iterable[FetchedLayout]) -> None:
    """Save layouts of scalable topics."""
    for one in layouts:
        write_file(folder / f"{_stem(one.topic)}.scalable.json", one.content)


def save_ledgers(folder: Path, topic: str, segments: Mapping[str, tuple[tuple[int, int], ...]]) -> str:
    """Save which ledgers segments of a scalable topic have, and how many entries each; the name of the file.

    They stand in it as internalStats of partitions, so that whatever reads a snapshot reads them.
    """
    partitions = {
        name: {
            "ledgers": [{"ledgerId": ledger_id, "entries": entries} for ledger_id, entries in ledgers],
            "lastConfirmedEntry": f"{ledgers[-1][0]}:{ledgers[-1][1] - 1}",
        }
        for name, ledgers in segments.items()
    }
    name = f"{_stem(topic)}.segments.json"
    write_file(folder / name, _json({"partitions": partitions}))
    return name


def _stem(topic: str) -> str:
    parts = topic.removeprefix(SCALABLE_SCHEME).split("/", 2)
    return "__".join(_encoded(part).replace("_", "%5F") for part in parts)


def save_topics(
    rest: AdminRest,
    folder: Path,
    index: SnapshotIndex,
    files: Iterable[TopicFiles],
    parallel: int,
    now_ms: Callable[[], int],
) -> Iterator[Entry]:
    """Save topics, several at a time; yields each when it is saved, gone or failed, and noted in the index."""
    ahead_ms = _ahead_ms(rest, now_ms)
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        # One group at a time: a cluster has more topics than a list of futures should hold.
        for group in groups_of(files, parallel * 8):
            for entry in pool.map(lambda file: _save_topic(rest, folder, file, now_ms, ahead_ms), group):
                index.add(entry)
                yield entry


def _ahead_ms(rest: AdminRest, now_ms: Callable[[], int]) -> int | None:
    """By how much our clock is ahead of the broker's, 0 where it is behind; None where the broker tells no time."""
    try:
        theirs_ms = rest.time_ms()
    except AdminError:
        return None
    return None if theirs_ms is None else max(0, now_ms() - theirs_ms)


def _save_topic(
    rest: AdminRest, folder: Path, file: TopicFiles, now_ms: Callable[[], int], ahead_ms: int | None
) -> Entry:
    at_ms = now_ms()
    try:
        contents = {kind: rest.document(file.topic, kind, query) for kind, query in _DOCUMENTS}
        policies = topic_policies(rest, file.topic)
        schemas = _schemas(rest, file.topic)
    except AdminError as error:
        return Entry(file.topic, "gone" if error.reason == "not_found" else "failed", at_ms, note=str(error))
    names = []
    for kind, content in contents.items():
        names.append(f"{file.stem}.{kind}.json")
        write_file(folder / names[-1], file.wrapped(content))
    names.append(f"{file.stem}.policies.json")
    write_file(folder / names[-1], _json({"snapshotKind": "policies", "topic": file.topic, **policies}))
    if schemas is not None:
        names.append(f"{file.stem}.schemas.json")
        write_file(folder / names[-1], _json(schemas))
    return Entry(file.topic, "saved", at_ms, tuple(names), asked_ms=None if ahead_ms is None else at_ms - ahead_ms)


def _schemas(rest: AdminRest, topic: str) -> Mapping[str, object] | None:
    """All versions of a topic's schemas; None of partitions but the first, which share them, and where there are none.

    Raises:
        AdminError: the service does not answer.
    """
    whole, separator, number = topic.rpartition("-partition-")
    if separator and number.isdecimal() and number != "0":
        return None
    named = whole if separator and number == "0" else topic
    try:
        body = rest.schemas(named)
    except AdminError as error:
        if error.status is None or error.status >= 500:
            raise
        return None  # 404 where it has none; 401 and 403 where our role may not know them
    versions = body.get("getSchemaResponses")
    return {"snapshotKind": "schemas", "topic": named, "getSchemaResponses": versions} if versions else None


def _json(body: Mapping[str, object]) -> bytes:
    return to_json(body, indent=1, sort_keys=True).encode()
