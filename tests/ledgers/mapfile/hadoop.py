"""Hadoop's own MapFile writer and reader, from the jars that PySpark brings, in one JVM for all that is asked of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.java_programs import Record, answers, records_of

JARS = Path(pyspark.__file__).parent / "jars"
SOURCE = Path(__file__).with_name("HadoopMapFiles.java")
OPENED = ("java.base/java.lang", "java.base/java.nio", "java.base/java.util", "java.base/java.net")


@dataclass(frozen=True)
class Written:
    """What Hadoop is to write: compression, codec, size of its blocks, interval of its index."""

    folder: Path
    records: Sequence[Record]
    compression: str = "BLOCK"
    codec: str = "DefaultCodec"
    block_bytes: int = 1_000_000
    index_interval: int = 128


def write(files: Sequence[Written], scratch: Path) -> list[str]:
    """Have them written; for each `done`, or Hadoop's error."""
    lines = []
    for number, file in enumerate(files):
        records = scratch / f"{number}.records"
        records.write_bytes(b"".join(struct.pack(">qi", key, len(body)) + body for key, body in file.records))
        words = (file.folder, records, file.compression, file.codec, file.block_bytes, file.index_interval)
        lines.append("\t".join(map(str, ("write", *words))))
    return _run(lines)


def read(folders: Sequence[Path], scratch: Path, *, by_key: bool = False) -> list[list[Record] | str]:
    """What Hadoop reads of each from front to back, or looks up key by key; or its error."""
    places = [scratch / f"{number}.read" for number in range(len(folders))]
    said = _run(
        [f"{'get' if by_key else 'read'}\t{folder}\t{place}" for folder, place in zip(folders, places, strict=True)]
    )
    return [records_of(place) if word == "done" else word for place, word in zip(places, said, strict=True)]


def _run(lines: Sequence[str]) -> list[str]:
    return answers(SOURCE, f"{JARS}/*", OPENED, lines)
