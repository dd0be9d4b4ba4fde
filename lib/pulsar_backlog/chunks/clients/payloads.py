"""What each client does with a joined payload: decompress it into as many bytes as the metadata claims.

    claim          codec    Java              C++               Go
    no stream      zlib     last chunk acked  last chunk acked  last chunk acked
                   others   reconnect loop    last chunk acked  last chunk acked
    too large      lz4      padded            last chunk acked  padded
                   snappy   padded            padded            right
                   zstd     padded            last chunk acked  right
                   zlib     reconnect loop    padded            last chunk acked
    too small      lz4      reconnect loop    last chunk acked  last chunk acked
                   snappy   reconnect loop    process dies      right
                   zstd     reconnect loop    last chunk acked  right
                   zlib     short             short             short
    none, or 0     snappy   reconnect loop    process dies      short
                   others   short             last chunk acked  short

Without a claim Java's message is empty, and Go's holds the bytes as they were stored. All of it was seen with real
clients (Java 4.0.8, Python 3.13.0, Go 0.19.0); their code: CompressionCodec*.java of apache/pulsar,
lib/CompressionCodec*.cc of apache/pulsar-client-cpp, pulsar/internal/compression of apache/pulsar-client-go.
Pulsar SQL decompresses with Java's codecs; where those throw the query fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pulsar_backlog.chunks.clients.events import Content, LogEntry, PayloadFact
from pulsar_backlog.chunks.clients.settings import Family

Outcome = Literal["right", "short", "padded", "unknown", "refused", "throws", "dies"]
"""`refused`: the client notices and acknowledges the last chunk only. The first four are delivered."""

Fact = PayloadFact | Literal["no_claim"]
"""`no_claim`: a codec is named, and `uncompressed_size` is 0 or absent."""

_JAVA: dict[tuple[Fact, str], Outcome] = {
    ("garbage", "ZLIB"): "refused",
    ("garbage", "LZ4"): "throws",
    ("garbage", "SNAPPY"): "throws",
    ("garbage", "ZSTD"): "throws",
    ("claim_too_large", "LZ4"): "padded",
    ("claim_too_large", "SNAPPY"): "padded",
    ("claim_too_large", "ZSTD"): "padded",
    ("claim_too_large", "ZLIB"): "throws",
    ("claim_too_small", "LZ4"): "throws",
    ("claim_too_small", "SNAPPY"): "throws",
    ("claim_too_small", "ZSTD"): "throws",
    ("claim_too_small", "ZLIB"): "short",
    ("no_claim", "LZ4"): "short",
    ("no_claim", "SNAPPY"): "throws",
    ("no_claim", "ZSTD"): "short",
    ("no_claim", "ZLIB"): "short",
}
_CPP: dict[tuple[Fact, str], Outcome] = {
    ("claim_too_large", "SNAPPY"): "padded",
    ("claim_too_large", "ZLIB"): "padded",
    ("claim_too_small", "SNAPPY"): "dies",
    ("claim_too_small", "ZLIB"): "short",
    ("no_claim", "SNAPPY"): "dies",
}
_GO: dict[tuple[Fact, str], Outcome] = {
    ("claim_too_large", "LZ4"): "padded",
    ("claim_too_large", "SNAPPY"): "right",
    ("claim_too_large", "ZSTD"): "right",
    ("claim_too_small", "SNAPPY"): "right",
    ("claim_too_small", "ZSTD"): "right",
    ("claim_too_small", "ZLIB"): "short",
    ("no_claim", "LZ4"): "short",
    ("no_claim", "SNAPPY"): "short",
    ("no_claim", "ZSTD"): "short",
    ("no_claim", "ZLIB"): "short",
}
_TABLES: dict[Family, dict[tuple[Fact, str], Outcome]] = {"java": _JAVA, "sql": _JAVA, "cpp": _CPP, "go": _GO}


def decompressed(family: Family, chunks: Sequence[LogEntry]) -> Outcome:
    """What the client makes of these chunks, joined; the last one's codec and size are what it goes by."""
    last = chunks[-1]
    if last.codec is None:
        return _joined(chunks)
    fact: Fact = "garbage"
    if not last.uncompressed_bytes:
        fact = "no_claim"
    elif is_one_message(chunks):
        fact = last.payload
    if fact == "fits":
        return "right"
    if fact == "unknown":
        return "unknown"
    return _TABLES[family].get((fact, last.codec), "refused")


def is_one_message(chunks: Sequence[LogEntry]) -> bool:
    """Whether the chunks are all chunks of one publication."""
    first, last = chunks[0], chunks[-1]
    return len({c.publication for c in chunks}) == 1 and len(chunks) == first.num_chunks == last.num_chunks


def content_of(chunks: Sequence[LogEntry], outcome: Outcome) -> Content:
    """What the application gets of chunks whose payload came out so."""
    if len({chunk.publication for chunk in chunks}) > 1:
        return "mixed"
    return outcome if outcome in ("short", "padded", "unknown") else "right"


def _joined(chunks: Sequence[LogEntry]) -> Outcome:
    """Nobody looks at the length of a payload that is not compressed.

    It shows whether bytes are missing, unless all chunks are there and add up to their total: then nothing says whether
    the length lies or the bytes do.
    """
    claim = chunks[-1].uncompressed_bytes
    joined = sum(chunk.slice_bytes for chunk in chunks)
    if not claim or claim == joined:
        return "right"
    if is_one_message(chunks) and joined == chunks[-1].total_bytes:
        return "unknown"
    return "short" if joined < claim else "right"
