"""Pulsar's own streaming offload and its reader, of the offloader's distribution, in one JVM for all that is asked."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.broker.distribution import VERSION, broker_home, offloaders
from tests.java_programs import answers, records_of
from tests.ledgers.streaming.encoding import Stretch

SOURCE = Path(__file__).with_name("StreamingOffload.java")


@dataclass(frozen=True)
class Written:
    """What the offloader is to write as one segment, from its `streamingBlockSize` on."""

    folder: Path
    uuid: str
    stretches: Sequence[Stretch]
    block_bytes: int


@dataclass(frozen=True)
class Read:
    """A ledger of so many entries that it is to read from a segment."""

    folder: Path
    uuid: str
    ledger_id: int
    entries: int


def write(segments: Sequence[Written], scratch: Path) -> list[str]:
    """Have them written; for each `done`, or the offloader's error."""
    lines = []
    for number, one in enumerate(segments):
        records = scratch / f"{number}.offered"
        one.folder.mkdir(parents=True, exist_ok=True)
        records.write_bytes(b"".join(_offered(stretch) for stretch in one.stretches))
        lines.append("\t".join(map(str, ("write", one.folder, one.uuid, records, one.block_bytes))))
    return _run(lines, scratch)


def read(ledgers: Sequence[Read], scratch: Path) -> list[list[tuple[int, bytes]] | str]:
    """What it reads of each; or its error."""
    places = [scratch / f"{number}.read" for number in range(len(ledgers))]
    said = _run(
        [
            "\t".join(map(str, ("read", one.folder, one.uuid, place, one.ledger_id, one.entries)))
            for one, place in zip(ledgers, places, strict=True)
        ],
        scratch,
    )
    return [records_of(place) if word == "done" else word for place, word in zip(places, said, strict=True)]


def _offered(stretch: Stretch) -> bytes:
    entries, size = stretch.total or (0, 0)
    return b"".join(
        struct.pack(">qqqqi", stretch.ledger_id, entry_id, entries, size, len(body)) + body
        for entry_id, body in enumerate(stretch.bodies, stretch.first)
    )


def _run(lines: Sequence[str], scratch: Path) -> list[str]:
    unpacked = scratch / "nar"
    if not unpacked.exists():
        with zipfile.ZipFile(offloaders() / f"tiered-storage-jcloud-{VERSION}.nar") as nar:
            nar.extractall(unpacked)
    classes = f"{unpacked}:{broker_home()}/lib/*:{unpacked}/META-INF/bundled-dependencies/*"
    said = answers(SOURCE, classes, ("java.base/java.lang",), lines)
    return [line.removeprefix("> ") for line in said if line.startswith("> ")]
