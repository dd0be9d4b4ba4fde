"""Payloads of decoded entries: opened, split into the members of a batch, added to rows of `messages`. No Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.messages.arrow_rows import Rows, as_list, member_columns
from pulsar_backlog.messages.batch_members import BatchMembers
from pulsar_backlog.messages.opening import SURPLUS_BYTES, joined_pieces, open_payload, size_doubt
from pulsar_backlog.messages.outcomes import NO_CHECKSUM, NULL_WITH_BYTES, Outcome, Unexportable, unexportable
from pulsar_backlog.messages.payloads import PayloadStore, StoredPayload
from pulsar_backlog.wire.batch import SingleMessage, read_batch
from pulsar_backlog.wire.encryption import KeyRing
from pulsar_backlog.wire.metadata import EncryptionKey

_NULL_VALUE = StoredPayload(0, "", None, None)


class PayloadOpener:
    """Opens the payloads of a run of entries and adds their messages to rows."""

    def __init__(
        self, columns: pa.RecordBatch, entries: pa.RecordBatch, store: PayloadStore, ring: KeyRing, schema: pa.Schema
    ) -> None:
        self.bare = Rows(entries, schema)
        self.members = Rows(entries, schema)
        self.plain = BatchMembers(columns, entries, store, schema)
        self._store = store
        self._ring = ring
        names = (
            "checksum_state", "compression", "uncompressed_size", "num_messages_in_batch", "null_value",
            "encryption_keys", "encryption_param", "index", "sequence_id",
        )  # fmt: skip
        self._values = {name: as_list(columns, name) for name in names}

    def open(self, at: int, stored: memoryview) -> Rows | BatchMembers:
        """Add the messages of entry `at`; the rows they went to."""
        value = {name: column[at] for name, column in self._values.items()}
        if value["checksum_state"] == "mismatch":
            self.bare.add(at, "corrupt", "its checksum does not agree", None)
            return self.bare
        keys = [EncryptionKey(key["key"], key["value"], {}) for key in value["encryption_keys"] or ()]
        try:
            payload = self._opened(stored, value, keys)
        except (DecodeError, Unexportable) as error:
            fault = error if isinstance(error, Unexportable) else unexportable(error)
            # A batch that stays shut is one row: its members cannot be told apart.
            self.bare.add(at, fault.outcome, fault.reason, None, batch_size=value["num_messages_in_batch"])
            return self.bare
        size = payload.size_bytes if isinstance(payload, StoredPayload) else len(payload)
        wrong = size_doubt(size, value["uncompressed_size"], value["compression"])
        unsure = NO_CHECKSUM if value["checksum_state"] == "absent" and not keys else None
        reason = "; ".join(doubt for doubt in (wrong, unsure) if doubt)
        outcome: Outcome = "wrong_size" if wrong else "exported"
        if value["num_messages_in_batch"] is None:
            self._add(self.bare, at, outcome, reason, payload, value["null_value"], {})
            return self.bare
        if self.plain.add(at, value["num_messages_in_batch"], payload, outcome, reason):
            return self.plain
        self._split(at, outcome, reason, payload, value)
        return self.members

    def _opened(self, stored: memoryview, value: dict[str, Any], keys: Sequence[EncryptionKey]) -> Any:
        """The payload, which is in its place already where it is large and no batch."""
        claim, bound = value["uncompressed_size"], self._store.max_message_bytes
        payload = open_payload(stored, value["compression"], claim, keys, value["encryption_param"], self._ring, bound)
        if not isinstance(payload, Iterator):
            return payload
        if value["num_messages_in_batch"] is not None:
            return joined_pieces(payload, bound)
        return self._store.keep_pieces(payload, claim, max(claim, SURPLUS_BYTES))

    def _split(self, at: int, outcome: Outcome, reason: str, payload: Any, entry: dict[str, Any]) -> None:
        size = entry["num_messages_in_batch"]
        members, fault = _members(payload, size)
        visible = [member for member in members if not member.compacted_out]
        if fault is not None:
            # What stands before the fault is given out, but a broken member makes all of the batch doubtful.
            reason = "; ".join(filter(None, (reason, fault.reason)))
            short = len(members) < size
            if short or not visible:  # a batch of which no member can be given out is a row too
                index = len(members) if short else -1
                self.bare.add(at, fault.outcome, fault.reason, None, batch_index=index, batch_size=size)
        for member in visible:
            own = member_columns(member, entry, size)
            self._add(self.members, at, outcome, reason, member.payload, member.null_value, own)

    def _add(
        self, rows: Rows, at: int, outcome: Outcome, reason: str, payload: Any, null: bool | None, own: dict[str, Any]
    ) -> None:
        stored = payload if isinstance(payload, StoredPayload) else None
        if null and not (stored.size_bytes if stored else len(payload)):
            rows.add(at, outcome, reason, _NULL_VALUE, **own | {"payload_sha256": None})
            return
        if null:
            reason = "; ".join(filter(None, (reason, NULL_WITH_BYTES)))
        try:
            rows.add(at, outcome, reason, stored or self._store.keep(payload), **own)
        except Unexportable as fault:
            rows.add(at, fault.outcome, fault.reason, None, **own)


def _members(payload: Any, size: int) -> tuple[list[SingleMessage], Unexportable | None]:
    """The members that can be read, and what stopped the reading."""
    members: list[SingleMessage] = []
    try:
        for member in read_batch(payload, size):
            members.append(member)
    except DecodeError as error:
        return members, unexportable(error)
    return members, None
