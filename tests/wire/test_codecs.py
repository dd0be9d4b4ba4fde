import hashlib
import json
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

import cramjam
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.codecs import PIECE_BYTES, decompress
from pulsar_backlog.wire.slices import WHOLE_BYTES, DecodeCheck, decoded_size_check
from tests.examples import examples
from tests.wire import golden

LIMIT = 1 << 24
LIB = str(Path(__file__).parents[2] / "lib")
CODECS = ("LZ4", "ZLIB", "ZSTD", "SNAPPY")


def checked(codec: str, slices: Iterable[bytes], size: int, limit: int, stored: int = 0) -> DecodeCheck:
    return decoded_size_check(codec, slices, size, stored, limit)


def java_zlib(data: bytes) -> bytes:
    deflater = zlib.compressobj()
    return deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)


def encode(codec: str, data: bytes) -> bytes:
    encoders = {
        "NONE": bytes,
        "LZ4": lambda d: bytes(cramjam.lz4.compress_block(d, store_size=False)),
        "ZLIB": java_zlib,
        "ZSTD": lambda d: bytes(cramjam.zstd.compress(d)),
        "SNAPPY": lambda d: bytes(cramjam.snappy.compress_raw(d)),
    }
    return encoders[codec](data)


def lz4_by_the_book(data: bytes) -> tuple[bytes, bool] | None:
    """LZ4 block format, read from its description; None where a block makes no sense.

    And whether it obeys the rules for its end: five literals last, the last match begins 12 bytes before the end.
    """
    out = bytearray()
    at = 0
    last_match = None

    def length(nibble: int) -> int:
        nonlocal at
        total = nibble
        while nibble == 15:
            total += data[at]
            at += 1
            if data[at - 1] != 255:
                break
        return total

    try:
        while True:
            token = data[at]
            at += 1
            literals = length(token >> 4)
            if at + literals > len(data):
                return None
            out += data[at : at + literals]
            at += literals
            if at == len(data):
                return bytes(out), last_match is None or (literals >= 5 and len(out) - last_match >= 12)
            distance = int.from_bytes(data[at : at + 2], "little")
            at += 2
            if not 0 < distance <= len(out):
                return None
            last_match = len(out)
            for _ in range(length(token & 15) + 4):
                out.append(out[-distance])
    except IndexError:
        return None


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


def family(name: str) -> tuple[str, list[bytes], int]:
    read = [golden.read(file) for file in golden.FAMILIES[name]["files"]]
    metadata = read[0][0].metadata
    assert metadata.compression is not None
    assert metadata.uncompressed_size is not None
    return metadata.compression, [payload for _, _, payload in read], metadata.uncompressed_size


# --- real bytes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in golden.ENTRIES if "-plain-" in n])
def test_unbatched_messages_are_what_java_got(name):
    entry, _, payload = golden.read(name)
    (expected,) = golden.ENTRIES[name]["messages"]
    codec = entry.metadata.compression or "NONE"
    value = decompress(codec, payload, entry.metadata.uncompressed_size or 0, LIMIT)
    assert len(value) == expected["size"]
    if not expected["null"]:
        assert hashlib.sha256(value).hexdigest() == expected["sha256"]
    size = entry.metadata.uncompressed_size or 0
    assert checked(codec, [payload], size, LIMIT) == DecodeCheck("ok", expected["size"], "")


@pytest.mark.parametrize("name", ["java-chunks-lz4", "java-chunks-zlib", "java-chunks-zstd", "raw-chunks-snappy"])
def test_healthy_slices_are_what_every_client_got(name):
    codec, slices, size = family(name)
    value = decompress(codec, b"".join(slices), size, LIMIT)
    delivered = golden.FAMILIES[name]["delivered"]
    assert len(delivered) == 3
    assert {(len(value), hashlib.sha256(value).hexdigest())} == {tuple(d) for d in delivered.values()}
    assert checked(codec, slices, size, LIMIT) == DecodeCheck("ok", size, "")


@pytest.mark.parametrize("name", ["bad-zstd", "garbage-lz4", "garbage-snappy", "garbage-zlib"])
def test_what_no_client_could_decompress_is_a_fault(name):
    codec, slices, size = family(name)
    assert golden.FAMILIES[name]["delivered"] == {}
    check = checked(codec, slices, size, LIMIT)
    assert (check.state, check.actual_bytes) == ("fault", None)
    assert check.detail
    with pytest.raises(DecodeError) as caught:
        decompress(codec, b"".join(slices), size, LIMIT)
    assert (caught.value.code, caught.value.field) == ("payload_undecodable", "payload")
    assert caught.value.context == b""


@pytest.mark.parametrize("name", [n for n in golden.FAMILIES if n.startswith("usize-")])
def test_a_wrong_uncompressed_size_is_told_and_the_true_content_found(name):
    codec, slices, size = family(name)
    sent = golden.FAMILIES[name]
    value = decompress(codec, b"".join(slices), size, LIMIT)
    assert hashlib.sha256(value).hexdigest() == sent["sent_sha256"]
    assert size != sent["sent_size"] == len(value)
    detail = f"decompresses to {len(value)} bytes, not {size}"
    assert checked(codec, slices, size, LIMIT) == DecodeCheck("wrong_size", len(value), detail)


def test_a_stream_of_the_jdk_that_never_ends():
    stored = bytes.fromhex("789cca48cdc9c957c8402701000000ffff")
    assert decompress("ZLIB", stored, 23, LIMIT) == b"hello hello hello hello"


# --- sizes and limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["NONE", *CODECS])
@examples(60)
@given(st.binary(max_size=300), st.integers(1, 700), st.integers(1, 400))
def test_round_trip_in_any_slices(codec, unit, times, size):
    data = unit * times
    stored = encode(codec, data)
    assert decompress(codec, stored, len(data), LIMIT) == data
    assert decompress(codec, memoryview(b"-" + stored)[1:], len(data), LIMIT) == data
    assert checked(codec, iter(cut(stored, size)), len(data), LIMIT) == DecodeCheck("ok", len(data), "")


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_the_last_size_that_is_decompressed(codec):
    data = b"pulsar" * 1000
    stored = encode(codec, data)
    assert decompress(codec, stored, len(data), len(data)) == data
    for claimed in (1, len(data), 0xFFFFFFFF):
        with pytest.raises(DecodeError) as caught:
            decompress(codec, stored, claimed, len(data) - 1)
        assert caught.value.code == "payload_too_large"


@pytest.mark.parametrize("codec", ["LZ4", "SNAPPY"])
def test_a_block_over_the_limit_is_not_checked(codec):
    data = b"pulsar" * 1000
    check = checked(codec, [encode(codec, data)], len(data), len(data) - 1)
    assert (check.state, check.actual_bytes) == ("not_checked", None)
    assert "5999" in check.detail


@pytest.mark.parametrize("codec", ["LZ4", "SNAPPY"])
def test_a_large_block_is_checked_as_a_stream_is(codec):
    data = b"pulsar" * 1000
    for stored_bytes in (WHOLE_BYTES, WHOLE_BYTES + 1):
        check = checked(codec, cut(encode(codec, data), 50), len(data), 100, stored=stored_bytes)
        assert check.state == ("ok" if stored_bytes > WHOLE_BYTES else "not_checked")
    assert checked(codec, [encode(codec, data)], WHOLE_BYTES + 1, 100).actual_bytes == len(data)
    assert checked(codec, [encode(codec, data)[:-1]], WHOLE_BYTES + 1, 100).state == "fault"
    ones = bytes(WHOLE_BYTES + 2)
    detail = f"decompresses to more than {WHOLE_BYTES + 1} bytes, not {WHOLE_BYTES + 1}"
    assert checked(codec, [encode(codec, ones)], WHOLE_BYTES + 1, 100) == DecodeCheck("wrong_size", None, detail)


@pytest.mark.parametrize("codec", ["ZLIB", "ZSTD"])
def test_a_stream_is_checked_over_the_limit_as_far_as_it_claims(codec):
    data = b"pulsar" * 1000
    stored = encode(codec, data)
    assert checked(codec, [stored], len(data), 100) == DecodeCheck("ok", len(data), "")
    detail = f"decompresses to more than {len(data) - 1} bytes, not {len(data) - 1}"
    assert checked(codec, [stored], len(data) - 1, 100) == DecodeCheck("wrong_size", None, detail)
    assert checked(codec, [stored], len(data) + 1, 100).actual_bytes == len(data)


@pytest.mark.parametrize("codec", CODECS)
def test_claimed_size_zero_is_a_claim_like_any_other(codec):
    # Clients call no codec then and deliver nothing; the bytes are there all the same.
    assert decompress(codec, encode(codec, b"abc"), 0, LIMIT) == b"abc"
    assert checked(codec, [encode(codec, b"abc")], 0, LIMIT).actual_bytes == 3
    with pytest.raises(DecodeError, match="payload_undecodable"):
        decompress(codec, b"\xff not a stream", 0, LIMIT)


@pytest.mark.parametrize(
    ("codec", "stored"),
    [
        ("LZ4", "00"),
        ("SNAPPY", "00"),
        ("ZLIB", "789c030000000001"),  # a whole stream, as C++ and Go write
        ("ZSTD", "28b52ffd2000010000"),
        *((codec, "") for codec in CODECS),  # Java under ZLIB; and a client may call no codec at all
    ],
)
def test_stored_forms_of_nothing(codec, stored):
    assert decompress(codec, bytes.fromhex(stored), 0, LIMIT) == b""
    assert checked(codec, [bytes.fromhex(stored)], 0, LIMIT) == DecodeCheck("ok", 0, "")
    assert checked(codec, [bytes.fromhex(stored)], 5, LIMIT).state in ("wrong_size", "fault")


def test_none_is_compared_only_where_a_size_is_claimed():
    assert checked("NONE", [b"ab", b"c"], 0, LIMIT) == DecodeCheck("ok", 3, "")
    assert checked("NONE", [b"ab", b"c"], 4, LIMIT).state == "wrong_size"


def test_a_codec_of_a_newer_version():
    check = checked("UNKNOWN(7)", [b"abc"], 3, LIMIT)
    assert check == DecodeCheck("not_checked", None, "codec UNKNOWN(7)")
    with pytest.raises(DecodeError, match="payload_codec_unknown"):
        decompress("UNKNOWN(7)", b"abc", 3, LIMIT)


# --- each codec's own traps ----------------------------------------------------------------------------------


def test_zlib_streams_that_end_and_that_do_not():
    data = b"0123456789" * 50
    whole = zlib.compress(data)
    assert decompress("ZLIB", whole, 500, LIMIT) == data
    assert decompress("ZLIB", whole[:-4], 500, LIMIT) == data  # ended, without Adler-32
    assert decompress("ZLIB", whole + b"rest", 500, LIMIT) == data  # clients stop at the end of the stream
    assert checked("ZLIB", [whole[:12]], 500, LIMIT).state == "fault"  # cut off in the middle
    java = java_zlib(data)
    assert checked("ZLIB", [java], 501, LIMIT).state == "wrong_size"  # ends cleanly, claim is wrong
    assert checked("ZLIB", cut(java, 1), 501, LIMIT).state == "wrong_size"
    assert checked("ZLIB", [java[:-1]], 501, LIMIT).state == "fault"
    assert checked("ZLIB", cut(java, 1), 500, LIMIT).state == "ok"


def test_a_wrong_adler32_is_noticed():
    whole = bytearray(zlib.compress(b"0123456789" * 50))
    whole[-1] ^= 1
    with pytest.raises(DecodeError, match="incorrect data check"):
        decompress("ZLIB", whole, 500, LIMIT)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_zlib_output_around_the_piece_size(extra):
    data = bytes(2 * PIECE_BYTES + extra)
    for stored in (zlib.compress(data), java_zlib(data)):
        assert checked("ZLIB", [stored], len(data), 100) == DecodeCheck("ok", len(data), "")


def test_zstd_frames_one_after_another_without_content_size():
    compressor = cramjam.zstd.Compressor()
    compressor.compress(b"without size")
    stored = bytes(compressor.finish()) + encode("ZSTD", b" and with")
    assert decompress("ZSTD", stored, 21, LIMIT) == b"without size and with"
    for broken in (b"", stored[:-1], stored + b"rest", b"rest" + stored):
        assert checked("ZSTD", [broken], 21, LIMIT).state == "fault"


def test_a_zstd_frame_with_a_wrong_content_checksum():
    java = bytearray(golden.read("java-plain-zstd.43-2.bin")[2])
    java[-1] ^= 1  # the last four bytes are its checksum
    with pytest.raises(DecodeError, match="checksum"):
        decompress("ZSTD", java, 800, LIMIT)


def test_an_lz4_block_is_never_padded_to_the_size_it_should_have():
    assert decompress("LZ4", encode("LZ4", b"abc"), 10, LIMIT) == b"abc"


def test_an_lz4_block_with_its_size_before_it_is_a_fault():
    # What libraries write by default and no Pulsar client reads.
    with_size = bytes(cramjam.lz4.compress_block(b"hello" * 20))
    assert lz4_by_the_book(with_size) is None
    assert checked("LZ4", [with_size], 100, LIMIT).state == "fault"


def test_a_snappy_block_that_cannot_hold_what_it_says():
    check = checked("SNAPPY", [b"\xff\xff\xff\xff\x0f" + bytes(100)], 50, LIMIT)
    assert check == DecodeCheck("fault", None, "105 bytes that say they hold 4294967295")


def test_nothing_is_read_after_the_end_of_a_zlib_stream():
    def slices():
        yield zlib.compress(b"abc")
        raise AssertionError("not needed")

    assert checked("ZLIB", slices(), 3, LIMIT).state == "ok"


def test_a_failing_source_is_not_the_payloads_fault():
    def slices(first):
        yield first
        raise OSError("connection reset")

    for codec in CODECS:
        with pytest.raises(OSError, match="connection reset"):
            checked(codec, slices(encode(codec, b"abc")[:3]), 3, LIMIT)


# --- hostile bytes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@examples(300)
@given(st.binary(max_size=200), st.integers(0, 0xFFFFFFFF), st.integers(0, 5000))
def test_any_bytes_decode_or_raise_a_decode_error(codec, stored, claimed, limit):
    try:
        value = decompress(codec, stored, claimed, limit)
    except DecodeError as error:
        assert error.code in {"payload_undecodable", "payload_too_large"}
    else:
        assert len(value) <= limit
    assert checked(codec, [stored], min(claimed, 1 << 20), limit).state in {
        "ok", "fault", "wrong_size", "not_checked",
    }  # fmt: skip


@pytest.mark.parametrize("codec", CODECS)
def test_every_prefix_and_flipped_bit_decodes_or_is_a_fault(codec):
    data = b"".join(b"line %d of a log\n" % i for i in range(12))
    stored = encode(codec, data)
    whole = (checked(codec, [stored[:n]], len(data), LIMIT) for n in range(len(stored)))
    # A ZLIB stream may lack its flush: all bytes are out before it.
    assert sum(check.state == "ok" for check in whole) <= (5 if codec == "ZLIB" else 0)
    for bit in range(8 * len(stored)):
        flipped = bytearray(stored)
        flipped[bit // 8] ^= 1 << bit % 8
        check = checked(codec, [flipped], len(data), LIMIT)
        assert check.state in {"ok", "fault", "wrong_size"}


@examples(400)
@given(st.lists(st.sampled_from([b"\x10a", b"\x11a\x01\x00", b"\x1fa\x01\x00\x05", b"\x50abcde"])))
@example([b"\x1fa\x01\x00\xff\xff\x00", b"\x50abcde"])
def test_lz4_agrees_with_the_format_description(parts):
    # No distance 0 among the parts: it breaks the rules, but lz4 does not notice.
    stored = b"".join(parts)
    by_the_book = lz4_by_the_book(stored)
    try:
        value = decompress("LZ4", stored, 1, LIMIT)
    except DecodeError:
        assert by_the_book is None or not by_the_book[1]
    else:
        assert by_the_book is not None
        assert value == by_the_book[0]


MEMORY = """
import json, resource, sys, zlib
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.codecs import decompress
from pulsar_backlog.wire.slices import decoded_size_check

def zstd_bomb(blocks):
    rle = (131072 << 3 | 2).to_bytes(3, "little") + b"A"
    return bytes.fromhex("28b52ffd0050") + rle * blocks + bytes([1, 0, 0])

deflater = zlib.compressobj()
head = deflater.compress(b"") + deflater.flush(zlib.Z_FULL_FLUSH)
mebibyte = deflater.compress(bytes(1 << 20)) + deflater.flush(zlib.Z_FULL_FLUSH)
bombs = {  # each says, or is, more than a gibibyte
    "ZSTD": zstd_bomb(10_000),
    "ZLIB": head + mebibyte * 1500,
    "LZ4": bytes.fromhex("1f410100") + b"\\xff" * 5_000_000 + bytes([0, 0x50]) + b"abcde",
    "SNAPPY": bytes.fromhex("ffffffff0f") + bytes(200_000_000 // 20),
}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = {}
for codec, bomb in bombs.items():
    try:
        decompress(codec, bomb, 0xFFFFFFFF, 16 << 20)
    except DecodeError as error:
        found[codec] = error.code
    found[codec] += " " + decoded_size_check(codec, [bomb], 1000, len(bomb), 16 << 20).state
found["honest"] = decoded_size_check("ZSTD", [zstd_bomb(4096)], 1 << 29, 0, 16 << 20).state
found["grown_mib"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
print(json.dumps(found))
"""


def test_bombs_cost_no_more_than_the_limit_allows():
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, check=True, env={"PYTHONPATH": LIB})
    found = json.loads(run.stdout)
    assert found.pop("grown_mib") < 80  # twice 16 MiB, the bombs joined and arrow's buffers
    assert found == {
        "ZSTD": "payload_too_large wrong_size",
        "ZLIB": "payload_too_large wrong_size",
        "LZ4": "payload_too_large not_checked",
        "SNAPPY": "payload_undecodable fault",
        "honest": "ok",
    }


LARGE = """
import json, resource
import numpy as np
from pulsar_backlog.wire.slices import decoded_size_check

mib, size = 1 << 20, 128 << 20
heads = {  # literals alone, as of what does not compress
    "LZ4": b"\\xf0" + b"\\xff" * ((size - 15) // 255) + bytes([(size - 15) % 255]),
    "SNAPPY": bytes.fromhex("80808040") + bytes([63 << 2]) + (size - 1).to_bytes(4, "little"),
}

def slices(head, count):
    yield head
    for _ in range(count):
        yield np.ones(mib, dtype=np.uint8).data

def check(codec, head, count):
    return decoded_size_check(codec, slices(head, count), size, len(head) + size, size).state

for codec, head in heads.items():
    check(codec, head, 1)  # compiles
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = {codec: check(codec, head, size // mib) for codec, head in heads.items()}
found["grown_mib"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
print(json.dumps(found))
"""


def test_a_large_block_is_checked_without_being_held():
    run = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, check=True, env={"PYTHONPATH": LIB})
    found = json.loads(run.stdout)
    assert found.pop("grown_mib") < 10
    assert found == {"LZ4": "ok", "SNAPPY": "ok"}
