"""Raw state in the folder: values of the metadata store, and entries of cursor ledgers.

    dump of the metadata store   a JSON object with keys `/managed-ledgers/...`; each value is base64 text, or an object
                                 with `b64` (or `value`, `data`), and `version` and `mtime` where they were kept
    exported tree                files below a folder `managed-ledgers`, each a value's bytes; that of a node with
                                 children is a file `.data`, `data` or `value` in the node's folder
    cursor ledger                a JSON object with entry ids as keys, each an object with `hex`; the ledger id ends
                                 the file's name, `...-221.json`
    the same, named              a JSON object with `ledgerId`, `custom` (its custom metadata) and perhaps `entries`,
                                 hex by entry id

The nodes are `/managed-ledgers/<managed ledger>` and, below it, one per cursor; a managed ledger is a topic's, a
partition's or, since 5.0, a segment's.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/MetaStoreImpl.java
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pulsar_backlog.cluster.fields import Fields, storable
from pulsar_backlog.cluster.saved_cursors import decoded_name
from pulsar_backlog.wire.names import topic_of_managed_ledger

ROOT = "/managed-ledgers/"

_ROOTS = (ROOT, "/topics/", "/txn/", "/ledgers/", "/schemas/")
_TREE = "managed-ledgers"
_OWN_VALUE = frozenset({".data", "data", "value", "__value__", "_value"})
_LEDGER_IN_NAME = re.compile(r"(\d{1,18})\.json\Z", re.ASCII)
_B64_KEYS = ("b64", "value", "data")


@dataclass(frozen=True)
class StoredValue:
    """One value of the metadata store.

    Attributes:
        topic: full name.
        cursor: subscription, decoded; None for the topic's list of ledgers.
        value: its bytes.
        file: where it was read from.
        version: of the node; None when not kept.
        modified_ms: of the node; None when not kept.
    """

    topic: str
    cursor: str | None
    value: bytes
    file: str
    version: int | None = None
    modified_ms: int | None = None


@dataclass(frozen=True)
class SavedCursorLedger:
    """Entries of one cursor ledger.

    Attributes:
        ledger_id: ledger.
        file: where they were read from.
        entries: bytes by entry id.
        topic: from its custom metadata; None when not kept.
        cursor: subscription, from its custom metadata; None when not kept.
        custom: its custom metadata; None when not kept.
    """

    ledger_id: int
    file: str
    entries: Mapping[int, bytes] = field(default_factory=dict)
    topic: str | None = None
    cursor: str | None = None
    custom: Mapping[str, str] | None = None


def is_store_dump(body: Mapping[str, object]) -> bool:
    """Whether a JSON object is a dump of the metadata store."""
    return any(name.startswith(_ROOTS) for name in body)


def is_cursor_ledger(body: Mapping[str, object]) -> bool:
    """Whether a JSON object holds a cursor ledger, or says whose it is."""
    if "ledgerId" in body and isinstance(body.get("custom"), dict):
        return True
    return bool(body) and all(
        name.isascii() and name.isdigit() and isinstance(entry, dict) and "hex" in entry for name, entry in body.items()
    )


def nodes_by_root(body: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """The nodes of a dump by the root that they lie below, by one walk; those of other roots are left out."""
    nodes: dict[str, dict[str, object]] = {root: {} for root in _ROOTS}
    for path, stored in body.items():
        root = next((root for root in _ROOTS if path.startswith(root)), None)
        if root is not None:
            nodes[root][path] = stored
    return nodes


def values_of_dump(body: Fields, nodes: Mapping[str, object], file: str) -> Iterator[StoredValue]:
    """The managed ledgers and cursors among nodes below `ROOT`; others are passed over."""
    for path, stored in nodes.items():
        node = _node_of_path(path.removeprefix(ROOT))
        if node is None:
            continue
        one = body.child(path) if isinstance(stored, dict) else None
        value = _decoded(stored)
        if value == b"" and node[1] is not None:
            continue
        if value is None:
            body.fault(path)
            continue
        version, modified = (one.integer("version"), one.integer("mtime")) if one else (None, None)
        yield StoredValue(*node, value, file, version, modified)


def decoded_nodes(body: Fields, nodes: Mapping[str, object]) -> Iterator[tuple[str, bytes]]:
    """Paths and their values; a value that is not base64 is noted."""
    for path, stored in nodes.items():
        value = _decoded(stored)
        if value is None:
            body.fault(path)
        else:
            yield path, value


def _decoded(value: object) -> bytes | None:
    """Bytes of a node of a dump; None where it holds no base64 text."""
    text = next((value[key] for key in _B64_KEYS if key in value), None) if isinstance(value, dict) else value
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None


def value_of_tree(relative: str, value: bytes) -> StoredValue | None:
    """The value in a file of an exported tree; None when the path names no managed ledger or cursor."""
    if _TREE not in relative:
        return None
    parts = PurePosixPath(relative).parts
    if _TREE not in parts[:-1]:
        return None
    below = list(parts[parts.index(_TREE) + 1 :])
    if below[-1] in _OWN_VALUE:
        below.pop()
    elif below[-1].endswith((".bin", ".data")):
        below[-1] = below[-1].rsplit(".", 1)[0]
    node = _node_of_path("/".join(below))
    return None if node is None else StoredValue(*node, value, relative)


def cursor_ledger_of(body: Fields, names: Mapping[str, object], file: str) -> SavedCursorLedger | None:
    """The cursor ledger in a JSON object; None when nothing names the ledger."""
    custom = body.child("custom") if body.has("ledgerId") else None
    if custom is None:
        match = _LEDGER_IN_NAME.search(file)
        return None if match is None else SavedCursorLedger(int(match[1]), file, _entries(body, names))
    ledger_id = body.integer("ledgerId")
    if ledger_id is None or custom.text("pulsar/cursor") is None:
        return None
    body_of_entries = body.child("entries") if isinstance(names.get("entries"), dict) else None
    entries = names.get("entries")
    return SavedCursorLedger(
        ledger_id,
        file,
        _entries(body_of_entries, entries) if body_of_entries is not None and isinstance(entries, dict) else {},
        topic=_topic(custom.text("pulsar/managed-ledger") or ""),
        cursor=decoded_name(custom.text("pulsar/cursor") or ""),
        custom={name: text for name in custom.names() if (text := custom.text(name)) is not None},
    )


def _entries(body: Fields, names: Mapping[str, object]) -> dict[int, bytes]:
    entries: dict[int, bytes] = {}
    for name, value in names.items():
        one = body.child(name) if isinstance(value, dict) else None
        text = value if one is None else one.text("hex")
        try:
            entries[int(name)] = bytes.fromhex(text) if isinstance(text, str) else b""
        except ValueError:
            body.fault(name)
    return entries


def _node_of_path(path: str) -> tuple[str, str | None] | None:
    """Topic and cursor of a node below `/managed-ledgers/`; None for inner nodes and other domains."""
    parts = path.split("/")
    if parts[2:3] == ["segment"]:
        end = 5
    elif "persistent" in parts[2:4]:
        end = parts.index("persistent", 2) + 2
    else:
        return None
    topic = _topic("/".join(parts[:end])) if len(parts) in (end, end + 1) else None
    return None if topic is None else (topic, decoded_name(parts[end]) if len(parts) > end else None)


def _topic(managed_ledger: str) -> str | None:
    try:
        return storable(topic_of_managed_ledger(managed_ledger))
    except ValueError:
        return None
