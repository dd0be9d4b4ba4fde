from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StatePosition(_message.Message):
    __slots__ = ("ledger_id", "entry_id")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    entry_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ...) -> None: ...

class SchemaIndexEntry(_message.Message):
    __slots__ = ("version", "position", "hash")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    version: int
    position: StatePosition
    hash: bytes
    def __init__(self, version: _Optional[int] = ..., position: _Optional[_Union[StatePosition, _Mapping]] = ..., hash: _Optional[bytes] = ...) -> None: ...

class SchemaEntry(_message.Message):
    __slots__ = ("schema_data", "index")
    SCHEMA_DATA_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    schema_data: bytes
    index: _containers.RepeatedCompositeFieldContainer[SchemaIndexEntry]
    def __init__(self, schema_data: _Optional[bytes] = ..., index: _Optional[_Iterable[_Union[SchemaIndexEntry, _Mapping]]] = ...) -> None: ...

class SchemaLocator(_message.Message):
    __slots__ = ("info", "index")
    INFO_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    info: SchemaIndexEntry
    index: _containers.RepeatedCompositeFieldContainer[SchemaIndexEntry]
    def __init__(self, info: _Optional[_Union[SchemaIndexEntry, _Mapping]] = ..., index: _Optional[_Iterable[_Union[SchemaIndexEntry, _Mapping]]] = ...) -> None: ...

class SchemaInfo(_message.Message):
    __slots__ = ("schema_id", "user", "type", "schema", "timestamp", "deleted", "props")
    class StatePair(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: bytes
        value: bytes
        def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    PROPS_FIELD_NUMBER: _ClassVar[int]
    schema_id: bytes
    user: bytes
    type: int
    schema: bytes
    timestamp: int
    deleted: bool
    props: _containers.RepeatedCompositeFieldContainer[SchemaInfo.StatePair]
    def __init__(self, schema_id: _Optional[bytes] = ..., user: _Optional[bytes] = ..., type: _Optional[int] = ..., schema: _Optional[bytes] = ..., timestamp: _Optional[int] = ..., deleted: _Optional[bool] = ..., props: _Optional[_Iterable[_Union[SchemaInfo.StatePair, _Mapping]]] = ...) -> None: ...

class TransactionSubscription(_message.Message):
    __slots__ = ("topic", "subscription")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    topic: bytes
    subscription: bytes
    def __init__(self, topic: _Optional[bytes] = ..., subscription: _Optional[bytes] = ...) -> None: ...

class TransactionMetadataEntry(_message.Message):
    __slots__ = ("metadata_op", "txnid_least_bits", "txnid_most_bits", "expected_status", "new_status", "partitions", "subscriptions", "timeout_ms", "start_time", "last_modification_time", "max_sequence_id")
    METADATA_OP_FIELD_NUMBER: _ClassVar[int]
    TXNID_LEAST_BITS_FIELD_NUMBER: _ClassVar[int]
    TXNID_MOST_BITS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATUS_FIELD_NUMBER: _ClassVar[int]
    NEW_STATUS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFICATION_TIME_FIELD_NUMBER: _ClassVar[int]
    MAX_SEQUENCE_ID_FIELD_NUMBER: _ClassVar[int]
    metadata_op: int
    txnid_least_bits: int
    txnid_most_bits: int
    expected_status: int
    new_status: int
    partitions: _containers.RepeatedScalarFieldContainer[bytes]
    subscriptions: _containers.RepeatedCompositeFieldContainer[TransactionSubscription]
    timeout_ms: int
    start_time: int
    last_modification_time: int
    max_sequence_id: int
    def __init__(self, metadata_op: _Optional[int] = ..., txnid_least_bits: _Optional[int] = ..., txnid_most_bits: _Optional[int] = ..., expected_status: _Optional[int] = ..., new_status: _Optional[int] = ..., partitions: _Optional[_Iterable[bytes]] = ..., subscriptions: _Optional[_Iterable[_Union[TransactionSubscription, _Mapping]]] = ..., timeout_ms: _Optional[int] = ..., start_time: _Optional[int] = ..., last_modification_time: _Optional[int] = ..., max_sequence_id: _Optional[int] = ...) -> None: ...

class BatchedTransactionMetadataEntry(_message.Message):
    __slots__ = ("transaction_logs",)
    TRANSACTION_LOGS_FIELD_NUMBER: _ClassVar[int]
    transaction_logs: _containers.RepeatedCompositeFieldContainer[TransactionMetadataEntry]
    def __init__(self, transaction_logs: _Optional[_Iterable[_Union[TransactionMetadataEntry, _Mapping]]] = ...) -> None: ...

class PendingAckMetadata(_message.Message):
    __slots__ = ("ledger_id", "entry_id", "ack_set", "batch_size")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    ACK_SET_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    entry_id: int
    ack_set: _containers.RepeatedScalarFieldContainer[int]
    batch_size: int
    def __init__(self, ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ..., ack_set: _Optional[_Iterable[int]] = ..., batch_size: _Optional[int] = ...) -> None: ...

class PendingAckMetadataEntry(_message.Message):
    __slots__ = ("pending_ack_op", "ack_type", "txnid_least_bits", "txnid_most_bits", "pending_ack_metadata")
    PENDING_ACK_OP_FIELD_NUMBER: _ClassVar[int]
    ACK_TYPE_FIELD_NUMBER: _ClassVar[int]
    TXNID_LEAST_BITS_FIELD_NUMBER: _ClassVar[int]
    TXNID_MOST_BITS_FIELD_NUMBER: _ClassVar[int]
    PENDING_ACK_METADATA_FIELD_NUMBER: _ClassVar[int]
    pending_ack_op: int
    ack_type: int
    txnid_least_bits: int
    txnid_most_bits: int
    pending_ack_metadata: _containers.RepeatedCompositeFieldContainer[PendingAckMetadata]
    def __init__(self, pending_ack_op: _Optional[int] = ..., ack_type: _Optional[int] = ..., txnid_least_bits: _Optional[int] = ..., txnid_most_bits: _Optional[int] = ..., pending_ack_metadata: _Optional[_Iterable[_Union[PendingAckMetadata, _Mapping]]] = ...) -> None: ...

class BatchedPendingAckMetadataEntry(_message.Message):
    __slots__ = ("pending_ack_logs",)
    PENDING_ACK_LOGS_FIELD_NUMBER: _ClassVar[int]
    pending_ack_logs: _containers.RepeatedCompositeFieldContainer[PendingAckMetadataEntry]
    def __init__(self, pending_ack_logs: _Optional[_Iterable[_Union[PendingAckMetadataEntry, _Mapping]]] = ...) -> None: ...

class DelayedIndex(_message.Message):
    __slots__ = ("timestamp", "ledger_id", "entry_id")
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    timestamp: int
    ledger_id: int
    entry_id: int
    def __init__(self, timestamp: _Optional[int] = ..., ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ...) -> None: ...

class SnapshotSegment(_message.Message):
    __slots__ = ("indexes",)
    INDEXES_FIELD_NUMBER: _ClassVar[int]
    indexes: _containers.RepeatedCompositeFieldContainer[DelayedIndex]
    def __init__(self, indexes: _Optional[_Iterable[_Union[DelayedIndex, _Mapping]]] = ...) -> None: ...

class BitMapOfLedger(_message.Message):
    __slots__ = ("ledger_id", "bit_map")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    BIT_MAP_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    bit_map: bytes
    def __init__(self, ledger_id: _Optional[int] = ..., bit_map: _Optional[bytes] = ...) -> None: ...

class SnapshotSegmentMetadata(_message.Message):
    __slots__ = ("delayed_index_bit_map", "max_schedule_timestamp", "min_schedule_timestamp")
    DELAYED_INDEX_BIT_MAP_FIELD_NUMBER: _ClassVar[int]
    MAX_SCHEDULE_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    MIN_SCHEDULE_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    delayed_index_bit_map: _containers.RepeatedCompositeFieldContainer[BitMapOfLedger]
    max_schedule_timestamp: int
    min_schedule_timestamp: int
    def __init__(self, delayed_index_bit_map: _Optional[_Iterable[_Union[BitMapOfLedger, _Mapping]]] = ..., max_schedule_timestamp: _Optional[int] = ..., min_schedule_timestamp: _Optional[int] = ...) -> None: ...

class SnapshotMetadata(_message.Message):
    __slots__ = ("metadata_list",)
    METADATA_LIST_FIELD_NUMBER: _ClassVar[int]
    metadata_list: _containers.RepeatedCompositeFieldContainer[SnapshotSegmentMetadata]
    def __init__(self, metadata_list: _Optional[_Iterable[_Union[SnapshotSegmentMetadata, _Mapping]]] = ...) -> None: ...
