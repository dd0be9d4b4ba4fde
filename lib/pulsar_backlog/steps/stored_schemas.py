"""Schemas as bookies store them: each version an entry of a ledger of its own, which the metadata store points to.

Where saved state has the metadata store, its locator says which entries are in force. Where it has not, the entries
tell: each knows its topic and the versions before it. Of two that say the same version of different schemas nobody
can tell which one messages mean, so that version stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.internals.kinds import topic_of_schema
from pulsar_backlog.internals.reading import CopyReader
from pulsar_backlog.internals.schemas import StoredSchema, decode_locator, decode_schema
from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.schemas.documents import type_name
from pulsar_backlog.schemas.values import SchemaInfo
from pulsar_backlog.terms import Position


def stored_versions(
    source: Source, internal: Sequence[PlannedCopy], folder: str | None, topic: str
) -> dict[int, SchemaInfo]:
    """Schemas of a topic by version; those that nothing here holds are not among them.

    Args:
        source: where the ledgers are.
        internal: the ledgers without messages that it holds.
        folder: of saved state, which may have the metadata store.
        topic: full name, without a partition.
    """
    if not internal:
        return {}
    saved = read_cluster_state(Path(folder), {}).nodes.schemas if folder is not None else {}
    own = {schema_id: value for schema_id, value in saved.items() if topic_of_schema(schema_id) == topic}
    if not own:
        return _without_locator(source, internal, topic)
    positions = _positions(own.values())
    wanted = {ledger_id for ledger_id, _ in positions}
    chosen = [one for one in internal if one.ledger_id in wanted]
    by_version: dict[int, SchemaInfo] = {}
    for position, stored in _stored(source, chosen):
        if position in positions and _is_of(stored, topic):
            by_version[positions[position]] = _info(stored)
    return by_version


def planned_copies(internal: Iterable[Examined]) -> list[PlannedCopy]:
    """Ledgers without messages as a plan to read them."""
    return [
        PlannedCopy(
            None, one.pair.ledger_id, one.pair.copy, one.pair.kind, one.pair.data.path if one.pair.data else None,
            None, None, None, None, None, one.blocks,
        )
        for one in internal
    ]  # fmt: skip


def _positions(locators: Iterable[bytes]) -> dict[Position, int]:
    """Versions by the place of their entry; none of a locator that is damaged."""
    positions: dict[Position, int] = {}
    for value in locators:
        try:
            versions = decode_locator(value)
        except DecodeError:
            continue
        positions |= {one.position: one.version for one in versions if one.position is not None}
    return positions


def _without_locator(source: Source, internal: Iterable[PlannedCopy], topic: str) -> dict[int, SchemaInfo]:
    forms: dict[int, set[tuple[str, bytes, tuple[tuple[str, str], ...]]]] = {}
    infos: dict[int, SchemaInfo] = {}
    single = [one for one in internal if all(block.last_entry_id == 0 for block in one.blocks)]
    for _, stored in _stored(source, single):
        if not stored.is_exact or not _is_of(stored, topic):
            continue
        earlier = [one.version for one in stored.index if one.position is not None]
        version, info = max(earlier) + 1 if earlier else 0, _info(stored)
        infos[version] = info
        forms.setdefault(version, set()).add((info.type, info.data, tuple(sorted(info.properties.items()))))
    return {version: infos[version] for version, ways in forms.items() if len(ways) == 1}


def _is_of(stored: StoredSchema, topic: str) -> bool:
    return not stored.is_deletion and topic_of_schema(stored.schema_id) == topic


def _stored(source: Source, ledgers: Iterable[PlannedCopy]) -> Iterator[tuple[Position, StoredSchema]]:
    """Entries of schema ledgers, those that are proved and decode."""
    for copy in ledgers:
        if copy.data_uri is None:
            continue
        for entry_id, data in CopyReader(source, copy).entries():
            try:
                yield (copy.ledger_id, entry_id), decode_schema(data)
            except DecodeError:
                continue


def _info(stored: StoredSchema) -> SchemaInfo:
    return SchemaInfo(type_name(stored.type), stored.definition, dict(stored.properties))
