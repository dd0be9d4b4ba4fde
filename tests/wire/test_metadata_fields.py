"""The table of metadata fields says what protobuf's own declaration says, and the record has exactly its fields."""

from __future__ import annotations

from dataclasses import fields

import pytest
from google.protobuf.descriptor import FieldDescriptor as F

from pulsar_backlog.wire.metadata import MessageMetadata
from pulsar_backlog.wire.metadata_fields import METADATA_FIELDS, SQL_TYPES, Kind, MetadataField
from pulsar_backlog.wire.proto import pulsar_messages_pb2 as pb

DECLARED = pb.MessageMetadata.DESCRIPTOR.fields_by_name
KINDS = {
    (F.TYPE_BYTES, False): {Kind.TEXT, Kind.BYTES},
    (F.TYPE_BYTES, True): {Kind.TEXTS},
    (F.TYPE_BOOL, False): {Kind.BOOL},
    (F.TYPE_INT32, False): {Kind.INT32, Kind.CODEC},
    (F.TYPE_INT32, True): {Kind.INT32S},
    (F.TYPE_UINT32, False): {Kind.UINT32},
    (F.TYPE_INT64, False): {Kind.TIME},
    (F.TYPE_UINT64, False): {Kind.INT64, Kind.TIME},
    (F.TYPE_MESSAGE, True): {Kind.PROPERTIES, Kind.KEYS},
}


@pytest.mark.parametrize("one", METADATA_FIELDS, ids=lambda one: one.name)
def test_a_field_is_as_protobuf_declares_it(one: MetadataField) -> None:
    declared = DECLARED[one.name]
    assert declared.number == one.number
    assert declared.is_required == one.required
    assert one.kind in KINDS[declared.type, declared.is_repeated]


def test_no_field_is_left_out() -> None:
    assert [one.name for one in METADATA_FIELDS] == list(DECLARED)
    assert {one.name for one in METADATA_FIELDS} == {field.name for field in fields(MessageMetadata)}
    assert set(SQL_TYPES) == set(Kind)
