"""Nodes of the metadata store about ledgers themselves: BookKeeper's metadata of each, and locators of schemas.

    /ledgers/00/0000/L0001          ledger 1; more levels where ids are of 64 bits: the digits together are the id
    /schemas/tenant/namespace/topic the schema of a topic

A ledger that was deleted has no node. The value is text, `BookieMetadataFormatVersion`, a tab, the version and a line
feed, then (version 3) a varint length and the metadata in protobuf.
Source: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/meta/LedgerMetadataSerDe.java
and LongHierarchicalLedgerManager.java beside it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pulsar_backlog.cluster.fields import Fields, storable
from pulsar_backlog.cluster.stored_values import ROOT, decoded_nodes
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.ledger_metadata import LedgerMetadata, decode_ledger_metadata
from pulsar_backlog.wire.names import topic_of_managed_ledger

LEDGERS, SCHEMAS = "/ledgers/", "/schemas/"

_ID = re.compile(r"[0-9/]*L[0-9]{4,10}", re.ASCII)
_VERSION = b"BookieMetadataFormatVersion\t"
_MAX_VARINT_BYTES = 5
_CURSOR_KEY = "pulsar/cursor"


@dataclass(frozen=True)
class StoreNodes:
    """What a dump of the metadata store holds of them, as it is.

    Attributes:
        ledgers: value by ledger id; empty where the dump has none.
        schemas: value by schema id.
        namespaces: of which the dump has managed ledgers, `tenant/namespace`.
        changed_ms: when the node of each ledger was changed last; none where that was not kept.
        newest_ms: when the newest node of all was changed; None where that was not kept.
    """

    ledgers: Mapping[int, bytes] = field(default_factory=dict)
    schemas: Mapping[str, bytes] = field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()
    changed_ms: Mapping[int, int] = field(default_factory=dict)
    newest_ms: int | None = None

    def metadata(self, ledger_id: int) -> LedgerMetadata | None:
        """BookKeeper's metadata of a ledger; None where the dump has none, or other bytes."""
        value = self.ledgers.get(ledger_id)
        try:
            return None if value is None else decode_ledger_metadata(_body(value))
        except DecodeError:
            return None

    def topic(self, ledger_id: int) -> str | None:
        """Full name of the topic or segment whose messages a ledger holds; None of cursors, schemas and the like."""
        metadata = self.metadata(ledger_id)
        name = metadata.managed_ledger if metadata is not None else None
        if metadata is None or name is None or any(key == _CURSOR_KEY for key, _ in metadata.custom):
            return None
        try:
            return storable(topic_of_managed_ledger(name))
        except ValueError:
            return None


def store_nodes(body: Fields, nodes: Mapping[str, Mapping[str, object]]) -> StoreNodes:
    """The nodes in a dump, given by the root that they lie below."""
    ledgers, changed = {}, {}
    for path, value in decoded_nodes(body, nodes[LEDGERS]):
        ledger_id = ledger_of_path(path)
        if ledger_id is not None:
            ledgers[ledger_id] = value
            if (time := _changed_ms(nodes[LEDGERS][path])) is not None:
                changed[ledger_id] = time
    schemas = {path.removeprefix(SCHEMAS): value for path, value in decoded_nodes(body, nodes[SCHEMAS]) if value}
    spaces = (path.split("/") for path in nodes[ROOT])
    times = [time for some in nodes.values() for one in some.values() if (time := _changed_ms(one)) is not None]
    namespaces = frozenset("/".join(parts[2:4]) for parts in spaces if len(parts) > 5)
    return StoreNodes(ledgers, schemas, namespaces, changed, max(times, default=None))


def _changed_ms(node: object) -> int | None:
    time = node.get("mtime") if isinstance(node, dict) else None
    return time if type(time) is int else None


def together(all_: Iterable[StoreNodes]) -> StoreNodes:
    """What several files say together; the later file is believed."""
    ledgers: dict[int, bytes] = {}
    schemas: dict[str, bytes] = {}
    namespaces: set[str] = set()
    changed: dict[int, int] = {}
    times = []
    for one in all_:
        ledgers.update(one.ledgers)
        schemas.update(one.schemas)
        namespaces |= one.namespaces
        changed.update(one.changed_ms)
        times += [one.newest_ms] if one.newest_ms is not None else []
    return StoreNodes(ledgers, schemas, frozenset(namespaces), changed, max(times, default=None))


def ledger_of_path(path: str) -> int | None:
    """The ledger whose metadata a node holds; None of other nodes."""
    below = path.removeprefix(LEDGERS)
    if not _ID.fullmatch(below):
        return None
    digits = re.sub(r"[^0-9]", "", below)
    return int(digits) if len(digits) <= 19 and int(digits) < 1 << 63 else None


def _body(value: bytes) -> bytes:
    head, _, rest = value.partition(b"\n")
    if head != _VERSION + b"3":
        return value
    for i, byte in enumerate(rest[:_MAX_VARINT_BYTES]):
        if byte < 0x80:
            return rest[i + 1 :]
    return rest
