"""A folder of saved admin JSON and raw cursor state -> what the broker knew about each topic.

Files may have any name and lie in any folder; what they are is read from their content. A document that does not
name its topic gets it, in this order, from: the ledger metadata in it, the ledgers that it lists, and the name of
its file, `tenant__namespace__local.kind.json` with the parts percent-encoded.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from pulsar_backlog.cluster.digest import folder_digest
from pulsar_backlog.cluster.document_topics import topic_by_file_name, topic_by_ledgers
from pulsar_backlog.cluster.documents import Document
from pulsar_backlog.cluster.known_documents import KnownDocuments, KnownFile
from pulsar_backlog.cluster.layouts import newest_layouts
from pulsar_backlog.cluster.merge import disputes, merged
from pulsar_backlog.cluster.retention import SavedRetention
from pulsar_backlog.cluster.saved_files import MAX_FILE_BYTES, SavedFile, saved_files
from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cluster.snapshot_index import saved_entries, snapshot_gaps
from pulsar_backlog.cluster.store_nodes import together as nodes_together
from pulsar_backlog.cluster.transactions import added
from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding


def read_cluster_state(
    folder: Path,
    topics_of_ledgers: Mapping[int, str],
    max_file_bytes: int = MAX_FILE_BYTES,
    earlier: Callable[[], KnownDocuments | None] = lambda: None,
) -> ClusterState:
    """Everything that the files under a folder say.

    Args:
        folder: read with its subfolders; links to folders are not followed.
        topics_of_ledgers: full topic name by ledger id, as found in the stored ledgers.
        max_file_bytes: what a file may have at most.
        earlier: gives what is known of files by earlier audits, and takes what this one read.

    Raises:
        UsageError: there is no such folder.
    """
    files = list(_parsed_files(folder, max_file_bytes, earlier))
    named, nameless = _named(files, topics_of_ledgers)
    # On copies: which files are marked depends on the ledgers.
    for at, words in nameless.items():
        files[at] = replace(files[at], unusable=words)
    topics = _with_times(folder, merged(named))
    disputed, findings = disputes(topics, topics_of_ledgers)
    findings += [finding for file in files for finding in file.findings()]
    findings += [_finding_of_gap(subject, words) for subject, words in snapshot_gaps(folder)]
    values = tuple(value for file in files for value in file.stored_values)
    ledgers = tuple(ledger for file in files for ledger in file.cursor_ledgers)
    layouts = newest_layouts(layout for file in files for layout in file.layouts)
    registered = frozenset(one for file in files for one in file.registered)
    transactions = added(file.transactions for file in files if file.transactions is not None)
    retention, settings = SavedRetention(), SavedSettings()
    for file in files:
        retention.add(file.policies)
        settings.add(file.policies)
    if not topics and not findings and not values and not ledgers and not layouts:
        findings.append(Finding("S19", subject=".", message="No file here says anything about a topic."))
    findings += _documentation(file.path for file in files if file.is_documentation)
    nodes = nodes_together(file.nodes for file in files if file.nodes is not None)
    return ClusterState(
        topics, disputed, tuple(findings), values, ledgers, layouts, registered, transactions, retention, settings,
        nodes,
    )  # fmt: skip


def _parsed_files(
    folder: Path, max_file_bytes: int, earlier: Callable[[], KnownDocuments | None]
) -> tuple[SavedFile, ...]:
    """Every file, parsed once for all jobs of an audit while no file of the folder changes."""
    key, known_files = (folder, folder_digest(str(folder)), max_file_bytes), earlier()
    if key not in _parsed or (known_files is not None and _parsed[key][1] is None):
        _parsed.clear()
        files = tuple(saved_files(folder, max_file_bytes, known_files))
        _parsed[key] = files, None if known_files is None else known_files.after
    files, documents = _parsed[key]
    if known_files is not None and documents is not None:
        known_files.after = documents
    return files


_parsed: dict[tuple[Path, str | None, int], tuple[tuple[SavedFile, ...], dict[str, KnownFile] | None]] = {}
"""The files of the last folder, and what of them the next audit need not parse; None where nobody would keep it."""


def _with_times(folder: Path, topics: Mapping[str, TopicState]) -> dict[str, TopicState]:
    """With the times at which a snapshot asked: until then nothing followed what it calls the last entry."""
    times = {one.topic: one.asked_ms for one in saved_entries(folder) if one.status == "saved"}

    def with_time(state: TopicState) -> TopicState:
        asked_ms = times.get(state.topic)
        if asked_ms is None or state.last_confirmed is None:
            return state
        return replace(state, known_until_ms=max(asked_ms, state.known_until_ms or asked_ms))

    return {name: with_time(state) for name, state in topics.items()}


def _documentation(paths: Iterable[str]) -> Iterator[Finding]:
    names = tuple(paths)
    if names:
        words = f"{counted(len(names), 'file is', 'files are')} documentation by name, not read as saved state."
        yield Finding("S55", "documentation", words, count=len(names), evidence=names[:MAX_EVIDENCE])


def _finding_of_gap(subject: str, words: str) -> Finding:
    return Finding("S19", subject, words, reason="the snapshot's own list of what it saved", incomplete=True)


def _named(
    files: Iterable[SavedFile], topics_of_ledgers: Mapping[int, str]
) -> tuple[list[tuple[str, Document]], dict[int, str]]:
    """Documents with their topics, in the files' order; by place in it the fault of files whose topic nothing names."""
    listed: dict[int, str] = {}
    pairs = [(at, file, document) for at, file in enumerate(files) for document in file.documents]
    # Ledgers that one document lists under a topic name it for documents that list the same ones.
    for _, _, document in pairs:
        if document.topic:
            for ledger in document.ledgers:
                listed.setdefault(ledger.ledger_id, document.topic)
    # What is stored goes before what is listed; it is only read, and may be large.
    topics = ChainMap(cast(dict[int, str], topics_of_ledgers), listed) if listed else topics_of_ledgers
    named, nameless = [], {}
    for at, file, document in pairs:
        topic = document.topic or topic_by_ledgers(document, topics) or topic_by_file_name(file.path)
        if topic:
            named.append((topic, document))
        else:
            nameless[at] = f"this {document.kind} does not say which topic it is about"
    return named, nameless
