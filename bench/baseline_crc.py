"""The least any scan must do: read every byte of the files and compute CRC-32C, with some processes.

python -m bench.baseline_crc DIR [--processes 2]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import google_crc32c

READ_BYTES = 2 * 1024 * 1024
SHARE_BYTES = 64 * 1024 * 1024

Span = tuple[str, int, int]


@contextmanager
def pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that have started and imported what they need."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as workers:
        list(workers.map(time.sleep, [0.2] * processes))
        yield workers


def spans(folder: Path) -> list[Span]:
    """All files of `folder` in shares of 64 MiB: path, offset, length."""
    sizes = {path: path.stat().st_size for path in sorted(folder.iterdir())}
    return [
        (str(path), offset, min(SHARE_BYTES, size - offset))
        for path, size in sizes.items()
        for offset in range(0, size, SHARE_BYTES)
    ]


def crc32c_of_span(span: Span) -> int:
    """Read one share in pieces and give its CRC-32C."""
    path, offset, left = span
    crc = 0
    with Path(path).open("rb", buffering=0) as file:
        file.seek(offset)
        while left > 0:
            data = file.read(min(READ_BYTES, left))
            crc = google_crc32c.extend(crc, data)
            left -= len(data)
    return crc


def bytes_per_second(folder: Path, workers: ProcessPoolExecutor) -> float:
    """Read and sum all files of `folder` once."""
    work = spans(folder)
    began = time.perf_counter()
    list(workers.map(crc32c_of_span, work))
    return sum(length for _, _, length in work) / (time.perf_counter() - began)


def main(argv: list[str]) -> int:
    """Print the rate of three passes."""
    parser = argparse.ArgumentParser(prog="bench.baseline_crc")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(argv)
    with pool(options.processes) as workers:
        for _ in range(3):
            print(f"{bytes_per_second(options.folder, workers) / 1e9:.2f} GB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
