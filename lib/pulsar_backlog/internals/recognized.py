"""Which kind of internal ledger entries are of, where no name says it: the one whose decoder takes all of their bytes.

The kinds exclude each other by the fields that they need and the wire types of fields that they share; a message that a
newer release gave more fields is therefore not recognized, and its ledger stays `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulsar_backlog.cursors.decode import decode_position_info
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.internals.delayed_buckets import decode_bucket_metadata, decode_bucket_segment
from pulsar_backlog.internals.events import EventSchemas, messages_of_entry
from pulsar_backlog.internals.schemas import decode_schema
from pulsar_backlog.internals.transaction_logs import decode_pending_acks, decode_transaction_log
from pulsar_backlog.wire.compacted import decode_compacted

LOOKED_AT = 8
"""Entries of a ledger that are enough to recognize it."""


def kind_by_bytes(entries: Sequence[bytes]) -> str | None:
    """The kind that most of some first entries of a ledger are of; None where none fits."""
    looked = entries[:LOOKED_AT]
    fits = {kind: sum(_fits(test, entry) for entry in looked) for kind, test in _TESTS.items()}
    best = max(fits, key=lambda kind: fits[kind])  # the first among equals
    return best if fits[best] * 2 > len(looked) else None


def kind_of_messages(entries: Sequence[bytes], schemas: EventSchemas) -> tuple[str, str] | None:
    """The kind of system topic whose events most messages of some entries are, and the topic of one event."""
    events = []
    for data in entries[:LOOKED_AT]:
        try:
            events += [schemas.read(one.payload) for one in messages_of_entry(data) if one.payload is not None]
        except DecodeError:
            return None
    if not events or len({one.kind for one in events}) != 1:
        return None
    value = events[0].value
    about = value.get("topicName") or _topic_of_policies(value.get("topicPoliciesEvent"))
    return events[0].kind, str(about)


def _topic_of_policies(event: object) -> str | None:
    if not isinstance(event, dict):
        return None
    return f"{event.get('domain')}://{event.get('tenant')}/{event.get('namespace')}/{event.get('topic')}"


def _fits(test: Callable[[bytes], bool], entry: bytes) -> bool:
    try:
        return test(entry)
    except DecodeError:
        return False


def _is_compacted(entry: bytes) -> bool:
    decode_compacted(entry)
    return True


def _is_cursor(entry: bytes) -> bool:
    return not decode_position_info(entry).unknown_fields


def _is_bucket(entry: bytes) -> bool:
    try:
        return decode_bucket_segment(entry)[1]
    except DecodeError:
        return decode_bucket_metadata(entry).is_exact


_TESTS: dict[str, Callable[[bytes], bool]] = {
    "compacted": _is_compacted,
    "schema": lambda entry: decode_schema(entry).is_exact,
    "delayed_bucket": _is_bucket,
    "transaction_log": lambda entry: decode_transaction_log(entry)[1],
    "pending_ack": lambda entry: decode_pending_acks(entry)[1],
    "cursor": _is_cursor,
}
