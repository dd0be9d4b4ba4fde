"""One flipped byte in what Hadoop's own writers wrote: no entry stands under another one's id, whatever the codec."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import pytest

from tests.auditing import DATA
from tests.ledgers.encoding import MANAGED_LEDGER, UUID, metadata
from tests.ledgers.mapfile import hadoop
from tests.ledgers.mapfile.test_block_ids import ALIKE, VARIED, flipped, is_whole
from tests.ledgers.mapfile.test_hadoop import CODECS
from tests.ledgers.sources import Seen, see

FLIPS = 40
REAL = DATA / "mapfiles"
BODIES = {"alike": ALIKE, "varied": VARIED}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Files of blocks that Hadoop compressed, by content and codec."""
    root, scratch = tmp_path_factory.mktemp("hadoops"), tmp_path_factory.mktemp("records")
    places = {(name, codec): root / name / codec for name in BODIES for codec in CODECS}
    files = []
    for (name, codec), place in places.items():
        bodies = BODIES[name]
        records = [(-1, metadata(sum(map(len, bodies)), len(bodies) - 1)), *enumerate(bodies)]
        files.append(hadoop.Written(place / MANAGED_LEDGER / f"7-{UUID}", records, "BLOCK", codec, 20_000))
    assert set(hadoop.write(files, scratch)) == {"done"}
    return places


def seen_flipped(folder: Path, at: int, by: int) -> Seen:
    """What is read of a folder whose only data file has another byte; without the checksums, which would tell."""
    (data,) = folder.rglob("data")
    data.with_name(".data.crc").unlink(missing_ok=True)
    whole = data.read_bytes()
    data.write_bytes(flipped(whole, at, by))
    try:
        return see(folder)
    finally:
        data.write_bytes(whole)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("codec", CODECS)
def test_flips_in_blocks_of_each_codec(
    written: dict[tuple[str, str], Path], name: str, codec: str, tmp_path: Path
) -> None:
    shutil.copytree(written[name, codec], folder := tmp_path / "flipped")
    seeded, size = random.Random(f"{name} {codec}"), next(folder.rglob("data")).stat().st_size
    for _ in range(FLIPS):
        at, by = seeded.randrange(150, size), seeded.randrange(1, 256)
        found = seen_flipped(folder, at, by)
        entries = dict(found.entries.get(7, []))
        wrong = [i for i, body in entries.items() if is_whole(body) and body != BODIES[name][i]]
        assert (at, by, wrong) == (at, by, [])
        assert len(entries) == len(BODIES[name]) or found.faults[7]


@pytest.mark.parametrize("ledger_id", [72, 85, 186, 261])
def test_flips_in_files_that_a_broker_offloaded(ledger_id: int, tmp_path: Path) -> None:
    """A schema's, a transaction's, a chunked and a long topic, in Pulsar's own settings."""
    (stored,) = (REAL / "source").rglob(f"{ledger_id}-*")
    shutil.copytree(stored, tmp_path / "lab" / "fs" / "persistent" / "topic" / stored.name)
    listed = json.loads((REAL / "expected" / "entries" / f"{ledger_id}.json").read_text())["entries"]
    truth = {one["entry_id"]: one["sha256"] for one in listed}
    seeded, size = random.Random(ledger_id), next(tmp_path.rglob("data")).stat().st_size
    for _ in range(FLIPS // 2):
        at, by = seeded.randrange(150, size), seeded.randrange(1, 256)
        found = seen_flipped(tmp_path, at, by)
        entries = found.entries.get(ledger_id, [])
        wrong = [i for i, body in entries if is_whole(body) and hashlib.sha256(body).hexdigest() != truth.get(i)]
        assert (at, by, wrong) == (at, by, [])
        assert len(entries) == len(truth) or found.faults[ledger_id]
