"""LedgerMetadataFormat: what BookKeeper records of a ledger, as found bare in index objects and MapFiles.

| # | field | kept as |
|---|---|---|
| 1, 2, 9 | quorumSize, ensembleSize, ackQuorumSize | `write_quorum`, `ensemble_size`, `ack_quorum` |
| 3 | length | `length_bytes`, the sum of entry bytes |
| 4 | lastEntryId | `last_entry_id` |
| 5 | state | `state` |
| 7 | digestType | `digest_type` |
| 10 | ctime | `created_ms` |
| 11 | customMetadata | `custom`, in order |

Source: https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-proto/src/main/proto/DataFormats.proto
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.proto import ledger_metadata_pb2 as pb

STATES: dict[int, str] = {1: "OPEN", 2: "IN_RECOVERY", 3: "CLOSED"}
DIGEST_TYPES: dict[int, str] = {1: "CRC32", 2: "HMAC", 3: "CRC32C", 4: "DUMMY"}
MANAGED_LEDGER_KEY = "pulsar/managed-ledger"
"""Custom metadata key whose value is the managed-ledger name."""

_REQUIRED = ("quorum_size", "ensemble_size", "length", "state")


@dataclass(frozen=True, slots=True)
class LedgerMetadata:
    """One ledger's metadata in BookKeeper's terms.

    Attributes:
        write_quorum: copies of each entry.
        ensemble_size: bookies an ensemble has.
        ack_quorum: copies that must be confirmed, or None.
        length_bytes: sum of the entries' bytes.
        last_entry_id: id of the last entry; None while the ledger is open, -1 when it is empty.
        state: `OPEN`, `IN_RECOVERY`, `CLOSED`, or None for a number of a newer version.
        digest_type: how bookies check entries, or None when absent or of a newer version.
        created_ms: when the ledger was created, milliseconds, or None.
        custom: custom metadata, key and value, in order.
    """

    write_quorum: int
    ensemble_size: int
    ack_quorum: int | None
    length_bytes: int
    last_entry_id: int | None
    state: str | None
    digest_type: str | None
    created_ms: int | None
    custom: tuple[tuple[str, bytes], ...]

    @property
    def managed_ledger(self) -> str | None:
        """Managed-ledger name in the custom metadata, or None when it is not there or not UTF-8."""
        value = dict(self.custom).get(MANAGED_LEDGER_KEY)
        try:
            return None if value is None else value.decode("utf-8")
        except UnicodeDecodeError:
            return None


def decode_ledger_metadata(data: bytes) -> LedgerMetadata:
    """Read the metadata of one ledger.

    Raises:
        DecodeError: `ledger_metadata_undecodable`, when it is not protobuf or lacks a field BookKeeper requires.
    """
    message = pb.LedgerMetadata()
    try:
        message.ParseFromString(data)
    except ProtobufError as error:
        raise _undecodable(data, "LedgerMetadataFormat", str(error)) from error
    for name in _REQUIRED:
        if not message.HasField(name):
            raise _undecodable(data, f"required field {name}", "none")
    return LedgerMetadata(
        write_quorum=message.quorum_size,
        ensemble_size=message.ensemble_size,
        ack_quorum=message.ack_quorum_size if message.HasField("ack_quorum_size") else None,
        length_bytes=message.length,
        last_entry_id=message.last_entry_id if message.HasField("last_entry_id") else None,
        state=STATES.get(message.state),
        digest_type=DIGEST_TYPES.get(message.digest_type),
        created_ms=message.ctime if message.HasField("ctime") else None,
        custom=tuple((item.key.decode("utf-8", "replace"), item.value) for item in message.custom_metadata),
    )


def encode_ledger_metadata(metadata: LedgerMetadata) -> bytes:
    """The same as LedgerMetadataFormat; without bookies (6), password (8) and token (12), which the record lacks."""
    message = pb.LedgerMetadata(
        quorum_size=metadata.write_quorum,
        ensemble_size=metadata.ensemble_size,
        ack_quorum_size=metadata.ack_quorum,
        length=metadata.length_bytes,
        last_entry_id=metadata.last_entry_id,
        state=_number(STATES, metadata.state),
        digest_type=_number(DIGEST_TYPES, metadata.digest_type),
        ctime=metadata.created_ms,
    )
    for key, value in metadata.custom:
        message.custom_metadata.add(key=key.encode(), value=value)
    return message.SerializeToString()


def _number(names: Mapping[int, str], wanted: str | None) -> int | None:
    return next((number for number, name in names.items() if name == wanted), None)


def _undecodable(data: bytes, expected: str, found: str) -> DecodeError:
    return DecodeError(
        "ledger_metadata_undecodable",
        offset=0,
        field="ledger_metadata",
        expected=expected,
        found=found,
        context=data,
    )
