"""Hadoop's own MapFile writer and reader against ours: what it writes is read, and what our encoder writes it reads."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.mapfile.index import decode_index
from tests.ledgers.encoding import MANAGED_LEDGER, UUID, metadata
from tests.ledgers.mapfile import hadoop
from tests.ledgers.mapfile.encoding import COMPRESSIONS, Style, index_of, map_file, put_map_file, value
from tests.ledgers.sources import see

CODECS = ("DefaultCodec", "DeflateCodec", "GzipCodec", "BZip2Codec", "SnappyCodec", "Lz4Codec")
"""Those that Hadoop has without a native library; for Zstandard it wants one."""


def bodies(sizes: tuple[int, ...], count: int) -> list[bytes]:
    rng = random.Random(repr(sizes))
    return [rng.randbytes(size) + b"a" * (size // 2) for size in rng.choices(sizes, k=count)]


LEDGERS = {
    "small": (bodies((0, 1, 40, 300), 700), 10_000),  # blocks of some dozen entries, so an index of several pairs
    "large": (bodies((300_000, 20), 9), 100_000),  # entries larger than a block, and than Hadoop's buffers
    "one": ([b"only"], 1_000_000),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Path]:
    """Folders of ledgers that Hadoop wrote, by content, compression and codec."""
    root, scratch = tmp_path_factory.mktemp("hadoop"), tmp_path_factory.mktemp("records")
    folders, files = {}, []
    for name, (contents, block_bytes) in LEDGERS.items():
        for compression in COMPRESSIONS:
            for codec in CODECS if compression != "NONE" else CODECS[:1]:
                folders[name, compression, codec] = root / f"{name}-{compression}-{codec}"
                place = folders[name, compression, codec] / MANAGED_LEDGER / f"7-{UUID}"
                head = metadata(sum(map(len, contents)), len(contents) - 1)
                records = [(-1, head), *enumerate(contents)]
                files.append(hadoop.Written(place, records, compression, codec, block_bytes))
    assert set(hadoop.write(files, scratch)) == {"done"}
    return folders


KINDS = [("NONE", "DefaultCodec"), *((how, codec) for how in ("RECORD", "BLOCK") for codec in CODECS)]


@pytest.mark.parametrize("name", LEDGERS)
@pytest.mark.parametrize(("compression", "codec"), KINDS)
def test_what_hadoop_writes_is_read(
    written: dict[tuple[str, str, str], Path], name: str, compression: str, codec: str
) -> None:
    for window_bytes in (1 << 23, 70_000):
        seen = see(written[name, compression, codec], window_bytes)
        assert seen.entries[7] == list(enumerate(LEDGERS[name][0]))
        assert (seen.faults[7], seen.codes(), seen.copy().status) == ([], {}, "ok")
        assert seen.copy().checksum_uri is not None  # its local file system writes them


def test_our_index_is_hadoops(written: dict[tuple[str, str, str], Path]) -> None:
    """Pairs come where the encoder of these tests puts them: records since the last, and a place that moved."""
    for (name, compression, codec), folder in written.items():
        (path,) = folder.glob(f"{MANAGED_LEDGER}/*/index")
        theirs = decode_index(path.read_bytes())
        style = Style(compression, codec, block_bytes=LEDGERS[name][1])
        contents = LEDGERS[name][0]
        if codec == "DefaultCodec":  # places depend on how well it compresses, and all use the same zlib
            stored = map_file(contents, style)
            ours = decode_index(index_of([-1, *range(len(contents))], stored.places, style))
            assert theirs.keys.tolist() == ours.keys.tolist(), (name, compression)


def test_what_the_encoder_of_these_tests_writes_hadoop_reads(tmp_path: Path) -> None:
    contents = LEDGERS["small"][0]
    places = []
    for compression, codec in KINDS:
        style = Style(compression, codec, block_bytes=9000, sync_interval=5000, piece_bytes=3000)
        places.append(put_map_file(tmp_path / f"{compression}-{codec}", map_file(contents, style)))
    head = metadata(sum(map(len, contents)), len(contents) - 1)
    for place, found in zip(places, hadoop.read(places, tmp_path), strict=True):
        assert found == [(-1, head), *enumerate(contents)], place
    assert len(value(b"")) == 4
