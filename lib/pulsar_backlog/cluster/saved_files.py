"""Files of saved admin JSON and raw cursor state -> what each of them says, read from its content."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pulsar_backlog.cluster.documents import Document, documents
from pulsar_backlog.cluster.fields import Fields, storable
from pulsar_backlog.cluster.folder_files import visible_files
from pulsar_backlog.cluster.known_documents import KnownDocuments
from pulsar_backlog.cluster.layouts import ROOT as TOPICS_ROOT
from pulsar_backlog.cluster.layouts import (
    Layout,
    is_layout,
    is_scalable_stats,
    layout_of,
    layouts_of_dump,
    registered_subscription,
    topic_of_file,
)
from pulsar_backlog.cluster.ledger_lists import document_of_ledger_list
from pulsar_backlog.cluster.store_nodes import StoreNodes, store_nodes
from pulsar_backlog.cluster.stored_values import (
    ROOT,
    SavedCursorLedger,
    StoredValue,
    cursor_ledger_of,
    decoded_nodes,
    is_cursor_ledger,
    is_store_dump,
    nodes_by_root,
    value_of_tree,
    values_of_dump,
)
from pulsar_backlog.cluster.transactions import ROOT as TXN_ROOT
from pulsar_backlog.cluster.transactions import Transactions, transactions_of_dump
from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings import Finding

MAX_FILE_BYTES = 256 * 1024 * 1024
"""A larger file is not admin JSON of one topic; reading it would cost the driver's memory."""

_HEAD_BYTES = 64
_SMALL_BYTES = 1024 * 1024
"""Of a file that is read in one piece."""
# Offloaded objects, which may lie in the same folder, and the answer of `scanOffloadedLedgers`, which is
# not JSON at all: `{objects:[` and no commas.
_NOT_ABOUT_TOPICS = re.compile(rb"\s*\{\s*objects\s*:|\xde\x47\xde\x47|\xfb\xdb\xab\xcb")
_DOCUMENTATION = re.compile(r"(.*/)?(readme|license|notice)(\.[a-z]+)?|.*\.(md|rst|adoc)", re.IGNORECASE | re.DOTALL)
"""Names of files that people put beside others for people; what has another name may be an answer that went wrong."""


@dataclass(slots=True)
class SavedFile:
    """One file: what it says, and what is wrong with it."""

    path: str
    documents: list[Document] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    stored_values: list[StoredValue] = field(default_factory=list)
    cursor_ledgers: list[SavedCursorLedger] = field(default_factory=list)
    layouts: list[Layout] = field(default_factory=list)
    registered: list[tuple[str, str]] = field(default_factory=list)
    transactions: Transactions | None = None
    nodes: StoreNodes | None = None
    policies: dict[str, object] = field(default_factory=dict)
    unusable: str | None = None
    is_documentation: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether it says something; of which topic, it may leave to others."""
        return bool(self.documents or self.stored_values or self.cursor_ledgers or self.layouts)

    def findings(self) -> Iterator[Finding]:
        """The S19 of this file, if any."""
        if self.unusable is None and not self.faults:
            return
        message = self.unusable or f"{len(self.faults)} fields have an unexpected form and were left out"
        yield Finding(
            "S19",
            subject=self.path,
            message=f"{self.path}: {message}.",
            evidence=tuple(self.faults),
            reason="read from the saved file",
            incomplete=self.unusable is not None,
        )


def saved_files(
    folder: Path, max_file_bytes: int = MAX_FILE_BYTES, earlier: KnownDocuments | None = None
) -> Iterator[SavedFile]:
    """Every file under a folder but the hidden ones, read, in a stable order.

    Args:
        folder: where they lie.
        max_file_bytes: what a file may have at most.
        earlier: what is known of files by earlier audits; those are read and not parsed.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"--admin: there is no folder of admin JSON: {folder}")
    errors: list[OSError] = []
    for path in visible_files(folder, errors.append):
        file = SavedFile(storable(path))
        try:
            _read(file, f"{folder}/{path}", max_file_bytes, earlier)
        except OSError as error:
            file.unusable = f"cannot be read ({error.strerror})"
        yield file
    for failed in errors:
        subfolder = storable(os.path.relpath(failed.filename, folder))
        yield SavedFile(subfolder, unusable=f"cannot be listed ({failed.strerror})")


def _read(file: SavedFile, path: str, max_file_bytes: int, earlier: KnownDocuments | None) -> None:
    # Thirty thousand times in a large cluster, where a Path would cost more than the file.
    with open(path, "rb", buffering=0, opener=_without_waiting) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            file.unusable = "not a regular file"
            return
        size = status.st_size
        head = stream.read(size + 1 if size <= _SMALL_BYTES else _HEAD_BYTES)
        if _NOT_ABOUT_TOPICS.match(head[:_HEAD_BYTES]):
            return
        if size > max_file_bytes:
            file.unusable = f"{size} bytes are more than admin JSON ever has"
            return
        content = (head + stream.readall())[: max_file_bytes + _HEAD_BYTES] if len(head) != size else head
    documents_before = earlier.documents(file.path, content) if earlier else None
    if documents_before is not None:
        file.documents = documents_before
        return
    of_tree = value_of_tree(file.path, content)
    if of_tree is not None:
        _take(file, of_tree)
    elif _DOCUMENTATION.fullmatch(file.path) and content.lstrip()[:1] not in b"{[":  # an empty one is cut off
        file.is_documentation = True
    else:
        _parse(file, content)
        if earlier is not None and file.documents and file == SavedFile(file.path, file.documents):
            earlier.add(file.path, content, file.documents)


def _without_waiting(path: str, flags: int) -> int:
    """Opens a pipe too, which would wait for who writes into it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _parse(file: SavedFile, content: bytes) -> None:
    try:
        body = json.loads(content)  # detects UTF-8 and UTF-16, with and without a byte-order mark
    except json.JSONDecodeError as error:
        what = "an HTML page" if content.lstrip()[:1] == b"<" else f"{error.msg} at character {error.pos}"
        file.unusable = "empty" if not content.strip() else f"not whole JSON: {what}"
        return
    except (ValueError, RecursionError):  # not Unicode, a number of thousands of digits, or nested without end
        file.unusable = "not JSON"
        return
    if isinstance(body, list):  # of topics or the like
        return
    if not isinstance(body, dict):
        file.unusable = "not a JSON object"
        return
    if type(body.get("partitions")) is int:  # how many partitions a topic has
        return
    if "snapshotKind" in body:  # what `snapshot` saves besides: settings and policies
        file.policies = body
        return
    if is_scalable_stats(body):  # counts that the layout has too
        return
    if is_store_dump(body) or is_cursor_ledger(body) or is_layout(body):
        _read_raw_state(file, body)
        return
    file.documents = list(documents(Fields(body, file.faults), file.path))
    if not file.documents and not file.faults and "partitions" not in body:
        answer = body.get("reason")
        reply = f": the broker answered {storable(answer)[:80]!r}" if isinstance(answer, str) else ""
        file.unusable = f"neither internalStats nor internal-info nor stats{reply}"


def _read_raw_state(file: SavedFile, body: dict[str, object]) -> None:
    """A dump of the metadata store, the layout of a scalable topic, or the entries of a cursor ledger."""
    fields = Fields(body, file.faults)
    if is_store_dump(body):
        stored = nodes_by_root(body)
        for value in values_of_dump(fields, stored[ROOT], file.path):
            _take(file, value)
        file.nodes = store_nodes(fields, stored)
        nodes = dict(decoded_nodes(fields, stored[TOPICS_ROOT]))
        file.layouts += layouts_of_dump(nodes.items(), file.faults, file.path)
        file.transactions = transactions_of_dump(decoded_nodes(fields, stored[TXN_ROOT]), file.faults)
        file.registered += [node for path in nodes if (node := registered_subscription(path))]
    elif is_layout(body):
        topic = topic_of_file(file.path.rsplit("/", 1)[-1])
        layout = layout_of(fields, topic, file.path) if topic else None
        file.layouts += [layout] if layout else []
        file.unusable = None if layout else "this layout of a scalable topic does not say which topic it is about"
    elif ledger := cursor_ledger_of(fields, body, file.path):
        file.cursor_ledgers.append(ledger)


def _take(file: SavedFile, value: StoredValue) -> None:
    file.stored_values.append(value)
    document = document_of_ledger_list(value)
    if document is not None:
        file.documents.append(document)
