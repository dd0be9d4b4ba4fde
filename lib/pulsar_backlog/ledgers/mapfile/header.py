"""The header of a SequenceFile, checked to the last byte.

```
[ "SEQ" ][ version u8 ][ key class: text ][ value class: text ][ compressed u8 ][ in blocks u8 ]
[ codec class: text, if compressed ][ pairs i32 ][ pairs x key text, value text ][ sync, 16 bytes ]

text   [ length: vint ][ UTF-8 ]
vint   one byte from -112 to 127; or -113 to -120: 1 to 8 bytes, big-endian; or -121 to -128: of the complement
```

| version | codec class | pairs |
|---|---|---|
| 6 | yes | yes |
| 5 | yes | none |
| 4 | none: zlib | none |

Source: https://github.com/apache/hadoop/blob/02c6d7d36b48a4c1d80dadec25e70b15eecab63b/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/io/SequenceFile.java
and `WritableUtils.java`, `Text.java` beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError

Compression = Literal["NONE", "RECORD", "BLOCK"]

MAGIC = b"SEQ"
VERSIONS = (4, 5, 6)
SYNC_BYTES = 16
SYNC_ESCAPE = b"\xff\xff\xff\xff"
ESCAPE_BYTES = len(SYNC_ESCAPE) + SYNC_BYTES
LONG_WRITABLE = "org.apache.hadoop.io.LongWritable"
BYTES_WRITABLE = "org.apache.hadoop.io.BytesWritable"
DEFAULT_CODEC = "org.apache.hadoop.io.compress.DefaultCodec"
USUAL_HEADER_BYTES = 4096
"""Read at first; a header that the offloader writes has some 140 bytes."""
MAX_HEADER_BYTES = 64 * 1024
"""Largest header that is read: what makes one long are its pairs, of which the offloader writes none."""

_ONE_BYTE = -112
_NEGATIVE = -120


@dataclass(frozen=True, slots=True)
class Header:
    """A header in the format's terms.

    Attributes:
        version: of the format.
        key_class: Java class of the keys.
        value_class: Java class of the values.
        compression: how records are compressed.
        codec: Java class of the codec, or None when nothing is compressed.
        pairs: how many pairs of texts it carries.
        sync: the file's own marker.
        length: bytes of the header: where the first record or block begins.
    """

    version: int
    key_class: str
    value_class: str
    compression: Compression
    codec: str | None
    pairs: int
    sync: bytes
    length: int

    @property
    def escape(self) -> bytes:
        """What stands before a block, and now and then before a record."""
        return SYNC_ESCAPE + self.sync


def read_vint(data: bytes | memoryview, at: int, field: str) -> tuple[int, int]:
    """A vint, and where it ends.

    Raises:
        DecodeError: `sequence_too_short`, when `data` ends before it does.
    """
    if at >= len(data):
        raise too_short(data, at, field)
    first = data[at] - 256 if data[at] > 127 else data[at]
    if first >= _ONE_BYTE:
        return first, at + 1
    size = _NEGATIVE - first if first < _NEGATIVE else _ONE_BYTE - first
    end = at + 1 + size
    if end > len(data):
        raise too_short(data, at, field)
    value = int.from_bytes(data[at + 1 : end], "big")
    return (~value if first < _NEGATIVE else value), end


def decode_header(data: bytes, value_class: str) -> Header:
    """Read a header whose values must be of `value_class`.

    Raises:
        DecodeError: `sequence_too_short`, when `data` ends before the header does, or another `sequence_` code.
    """
    version = _version(data)
    key_name, at = _text(data, 4, "key_class")
    value_name, end = _text(data, at, "value_class")
    compression, flags_end = _compression(data, end)
    codec, pairs_at = None, flags_end
    if compression != "NONE":
        codec = DEFAULT_CODEC
        if version >= 5:
            codec, pairs_at = _text(data, flags_end, "codec")
    pairs, sync_at = _pairs(data, pairs_at) if version >= 6 else (0, pairs_at)
    if sync_at + SYNC_BYTES > len(data):
        raise too_short(data, sync_at, "header.sync")
    for name, wanted, field, place in (
        (key_name, LONG_WRITABLE, "key_class", 4),
        (value_name, value_class, "value_class", at),
    ):
        if name != wanted:
            raise _wrong(data, "sequence_bad_class", place, f"header.{field}", wanted, _shown(name))
    sync = data[sync_at : sync_at + SYNC_BYTES]
    return Header(version, key_name, value_name, compression, codec, pairs, sync, sync_at + SYNC_BYTES)


def _version(data: bytes) -> int:
    if data[:3] != MAGIC[: len(data)]:
        raise _wrong(data, "sequence_bad_magic", 0, "header.magic", MAGIC.hex(), data[:3].hex())
    if len(data) < 4:
        raise too_short(data, len(data), "header.version")
    if data[3] not in VERSIONS:
        expected = f"a version from {VERSIONS[0]} to {VERSIONS[-1]}"
        raise _wrong(data, "sequence_bad_version", 3, "header.version", expected, str(data[3]))
    return data[3]


def _text(data: bytes, at: int, field: str) -> tuple[str, int]:
    length, start = read_vint(data, at, f"header.{field}")
    if not 0 <= length <= MAX_HEADER_BYTES:
        expected = f"a length of 0 to {MAX_HEADER_BYTES}"
        raise _wrong(data, "sequence_bad_header", at, f"header.{field}", expected, str(length))
    if start + length > len(data):
        raise too_short(data, start, f"header.{field}")
    return data[start : start + length].decode("utf-8", "replace"), start + length


def _compression(data: bytes, at: int) -> tuple[Compression, int]:
    if at + 2 > len(data):
        raise too_short(data, at, "header.compressed")
    kinds: dict[tuple[int, int], Compression] = {(0, 0): "NONE", (1, 0): "RECORD", (1, 1): "BLOCK"}
    kind = kinds.get((data[at], data[at + 1]))
    if kind is None:
        found = f"compressed {data[at]}, in blocks {data[at + 1]}"
        raise _wrong(data, "sequence_bad_header", at, "header.compressed", "0 0, 1 0 or 1 1", found)
    return kind, at + 2


def _pairs(data: bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(data):
        raise too_short(data, at, "header.pairs")
    count, end = int.from_bytes(data[at : at + 4], "big", signed=True), at + 4
    if not 0 <= count <= MAX_HEADER_BYTES // 2:
        expected = f"0 to {MAX_HEADER_BYTES // 2} pairs"
        raise _wrong(data, "sequence_bad_header", at, "header.pairs", expected, str(count))
    for _ in range(2 * count):
        _, end = _text(data, end, "pairs")
    return count, end


def too_short(data: bytes | memoryview, at: int, field: str) -> DecodeError:
    """The error of a field at `at` that `data` ends in."""
    found = f"the end at {len(data)}"
    return _wrong(data, "sequence_too_short", at, field, "the rest of it", found)


def _wrong(data: bytes | memoryview, code: str, at: int, field: str, expected: str, found: str) -> DecodeError:
    context = bytes(data[at : at + CONTEXT_BYTES])
    return DecodeError(code, offset=at, field=field, expected=expected, found=found, context=context)


def _shown(name: str) -> str:
    return ascii(name[:200])[1:-1]
