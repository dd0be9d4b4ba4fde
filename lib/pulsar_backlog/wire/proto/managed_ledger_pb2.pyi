from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ManagedLedgerInfo(_message.Message):
    __slots__ = ("ledger_info", "terminated_position", "properties")
    class LedgerInfo(_message.Message):
        __slots__ = ("ledger_id", "entries", "size", "timestamp", "offload_context", "properties")
        LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
        ENTRIES_FIELD_NUMBER: _ClassVar[int]
        SIZE_FIELD_NUMBER: _ClassVar[int]
        TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
        OFFLOAD_CONTEXT_FIELD_NUMBER: _ClassVar[int]
        PROPERTIES_FIELD_NUMBER: _ClassVar[int]
        ledger_id: int
        entries: int
        size: int
        timestamp: int
        offload_context: OffloadContext
        properties: _containers.RepeatedCompositeFieldContainer[Pair]
        def __init__(self, ledger_id: _Optional[int] = ..., entries: _Optional[int] = ..., size: _Optional[int] = ..., timestamp: _Optional[int] = ..., offload_context: _Optional[_Union[OffloadContext, _Mapping]] = ..., properties: _Optional[_Iterable[_Union[Pair, _Mapping]]] = ...) -> None: ...
    LEDGER_INFO_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_POSITION_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    ledger_info: _containers.RepeatedCompositeFieldContainer[ManagedLedgerInfo.LedgerInfo]
    terminated_position: NestedPosition
    properties: _containers.RepeatedCompositeFieldContainer[Pair]
    def __init__(self, ledger_info: _Optional[_Iterable[_Union[ManagedLedgerInfo.LedgerInfo, _Mapping]]] = ..., terminated_position: _Optional[_Union[NestedPosition, _Mapping]] = ..., properties: _Optional[_Iterable[_Union[Pair, _Mapping]]] = ...) -> None: ...

class OffloadContext(_message.Message):
    __slots__ = ("uid_msb", "uid_lsb", "complete", "bookkeeper_deleted", "timestamp")
    UID_MSB_FIELD_NUMBER: _ClassVar[int]
    UID_LSB_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    BOOKKEEPER_DELETED_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    uid_msb: int
    uid_lsb: int
    complete: bool
    bookkeeper_deleted: bool
    timestamp: int
    def __init__(self, uid_msb: _Optional[int] = ..., uid_lsb: _Optional[int] = ..., complete: _Optional[bool] = ..., bookkeeper_deleted: _Optional[bool] = ..., timestamp: _Optional[int] = ...) -> None: ...

class Pair(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    value: bytes
    def __init__(self, name: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class NumberPair(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    value: int
    def __init__(self, name: _Optional[bytes] = ..., value: _Optional[int] = ...) -> None: ...

class NestedPosition(_message.Message):
    __slots__ = ("ledger_id", "entry_id")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    entry_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ...) -> None: ...

class MessageRange(_message.Message):
    __slots__ = ("lower", "upper")
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    lower: NestedPosition
    upper: NestedPosition
    def __init__(self, lower: _Optional[_Union[NestedPosition, _Mapping]] = ..., upper: _Optional[_Union[NestedPosition, _Mapping]] = ...) -> None: ...

class BatchDeletion(_message.Message):
    __slots__ = ("position", "delete_set")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    DELETE_SET_FIELD_NUMBER: _ClassVar[int]
    position: NestedPosition
    delete_set: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, position: _Optional[_Union[NestedPosition, _Mapping]] = ..., delete_set: _Optional[_Iterable[int]] = ...) -> None: ...

class LongListMap(_message.Message):
    __slots__ = ("key", "values")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    key: int
    values: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, key: _Optional[int] = ..., values: _Optional[_Iterable[int]] = ...) -> None: ...

class PositionInfo(_message.Message):
    __slots__ = ("ledger_id", "entry_id", "ranges", "properties", "batches", "long_lists")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    LONG_LISTS_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    entry_id: int
    ranges: _containers.RepeatedCompositeFieldContainer[MessageRange]
    properties: _containers.RepeatedCompositeFieldContainer[NumberPair]
    batches: _containers.RepeatedCompositeFieldContainer[BatchDeletion]
    long_lists: _containers.RepeatedCompositeFieldContainer[LongListMap]
    def __init__(self, ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ..., ranges: _Optional[_Iterable[_Union[MessageRange, _Mapping]]] = ..., properties: _Optional[_Iterable[_Union[NumberPair, _Mapping]]] = ..., batches: _Optional[_Iterable[_Union[BatchDeletion, _Mapping]]] = ..., long_lists: _Optional[_Iterable[_Union[LongListMap, _Mapping]]] = ...) -> None: ...

class ManagedCursorInfo(_message.Message):
    __slots__ = ("cursors_ledger_id", "mark_delete_ledger_id", "mark_delete_entry_id", "ranges", "properties", "last_active", "batches", "cursor_properties")
    CURSORS_LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    MARK_DELETE_LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    MARK_DELETE_ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    LAST_ACTIVE_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    CURSOR_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    cursors_ledger_id: int
    mark_delete_ledger_id: int
    mark_delete_entry_id: int
    ranges: _containers.RepeatedCompositeFieldContainer[MessageRange]
    properties: _containers.RepeatedCompositeFieldContainer[NumberPair]
    last_active: int
    batches: _containers.RepeatedCompositeFieldContainer[BatchDeletion]
    cursor_properties: _containers.RepeatedCompositeFieldContainer[Pair]
    def __init__(self, cursors_ledger_id: _Optional[int] = ..., mark_delete_ledger_id: _Optional[int] = ..., mark_delete_entry_id: _Optional[int] = ..., ranges: _Optional[_Iterable[_Union[MessageRange, _Mapping]]] = ..., properties: _Optional[_Iterable[_Union[NumberPair, _Mapping]]] = ..., last_active: _Optional[int] = ..., batches: _Optional[_Iterable[_Union[BatchDeletion, _Mapping]]] = ..., cursor_properties: _Optional[_Iterable[_Union[Pair, _Mapping]]] = ...) -> None: ...

class CompressionHeader(_message.Message):
    __slots__ = ("compression_type", "uncompressed_size")
    COMPRESSION_TYPE_FIELD_NUMBER: _ClassVar[int]
    UNCOMPRESSED_SIZE_FIELD_NUMBER: _ClassVar[int]
    compression_type: int
    uncompressed_size: int
    def __init__(self, compression_type: _Optional[int] = ..., uncompressed_size: _Optional[int] = ...) -> None: ...
