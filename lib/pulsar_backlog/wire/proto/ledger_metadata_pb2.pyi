from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LedgerMetadata(_message.Message):
    __slots__ = ("quorum_size", "ensemble_size", "length", "last_entry_id", "state", "segment", "digest_type", "ack_quorum_size", "ctime", "custom_metadata", "c_token")
    class Segment(_message.Message):
        __slots__ = ("ensemble_member", "first_entry_id")
        ENSEMBLE_MEMBER_FIELD_NUMBER: _ClassVar[int]
        FIRST_ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
        ensemble_member: _containers.RepeatedScalarFieldContainer[bytes]
        first_entry_id: int
        def __init__(self, ensemble_member: _Optional[_Iterable[bytes]] = ..., first_entry_id: _Optional[int] = ...) -> None: ...
    class CustomMetadata(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: bytes
        value: bytes
        def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...
    QUORUM_SIZE_FIELD_NUMBER: _ClassVar[int]
    ENSEMBLE_SIZE_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    LAST_ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_TYPE_FIELD_NUMBER: _ClassVar[int]
    ACK_QUORUM_SIZE_FIELD_NUMBER: _ClassVar[int]
    CTIME_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_METADATA_FIELD_NUMBER: _ClassVar[int]
    C_TOKEN_FIELD_NUMBER: _ClassVar[int]
    quorum_size: int
    ensemble_size: int
    length: int
    last_entry_id: int
    state: int
    segment: _containers.RepeatedCompositeFieldContainer[LedgerMetadata.Segment]
    digest_type: int
    ack_quorum_size: int
    ctime: int
    custom_metadata: _containers.RepeatedCompositeFieldContainer[LedgerMetadata.CustomMetadata]
    c_token: int
    def __init__(self, quorum_size: _Optional[int] = ..., ensemble_size: _Optional[int] = ..., length: _Optional[int] = ..., last_entry_id: _Optional[int] = ..., state: _Optional[int] = ..., segment: _Optional[_Iterable[_Union[LedgerMetadata.Segment, _Mapping]]] = ..., digest_type: _Optional[int] = ..., ack_quorum_size: _Optional[int] = ..., ctime: _Optional[int] = ..., custom_metadata: _Optional[_Iterable[_Union[LedgerMetadata.CustomMetadata, _Mapping]]] = ..., c_token: _Optional[int] = ...) -> None: ...
