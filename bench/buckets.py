"""A bucket read from front to back as a task reads it, next to a plain reader of ranges on the same server.

The server is on loopback, in a process of its own, and answers ranges of files as S3 does; it looks at no signature.
The plain reader asks for ranges as large and as many at once as ours, and drops what it gets. A server that waits
before each answer shows whether a scan reads while it decodes.
"""

from __future__ import annotations

import email.utils
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote

import urllib3

from bench.generate import Spec
from bench.growth import written
from bench.measuring import interleaved, median_ratio
from bench.scorecard import Goal, Scorecard
from bench.subjects import Backlog
from pulsar_backlog.frames.scanning.task import SCAN_TABLES, ScanTask
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.output.data_files import FolderPlace, rows_in_file

OBJECT_BYTES = 512 * 1024 * 1024
NAME = "object"
DELAY_SECONDS = 0.05
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


class _Ranges(BaseHTTPRequestHandler):
    """Answers `GET /bucket/object` with a range of the file of that name."""

    protocol_version = "HTTP/1.1"
    folder: Path
    delay_seconds: float

    def do_GET(self) -> None:
        """A range, or all."""
        path = self.folder / unquote(self.path).split("/", 2)[2]
        size = path.stat().st_size
        time.sleep(self.delay_seconds)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(asked[1]), min(int(asked[2]), size - 1)) if asked else (0, size - 1)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("ETag", '"bench"')
        self.send_header("Last-Modified", email.utils.formatdate(usegmt=True))
        self.end_headers()
        self.wfile.flush()
        with path.open("rb") as file:
            while first <= last:
                first += os.sendfile(self.connection.fileno(), file.fileno(), first, last + 1 - first)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line for each request costs time."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """All readers connect at once: of more than 5, the standard library's, some wait a second and longer."""


def serve(folder: Path, delay_seconds: float) -> None:
    """Answer until killed; the port is the only line of output."""
    handler = type("Handler", (_Ranges,), {"folder": folder, "delay_seconds": delay_seconds})
    server = _Server(("127.0.0.1", 0), handler)
    print(server.server_port, flush=True)
    server.serve_forever()


@contextmanager
def random_object(size: int) -> Iterator[Path]:
    """A folder of one file of so many bytes."""
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-bucket-") as folder:
        with (Path(folder) / NAME).open("wb") as out:
            for _ in range(size // WINDOW_BYTES):
                out.write(os.urandom(WINDOW_BYTES))
        yield Path(folder)


@contextmanager
def served(folder: Path, delay_seconds: float = 0.0) -> Iterator[str]:
    """The address of a server of the files of a folder, which waits so long before each answer."""
    command = [sys.executable, "-m", "bench.buckets", str(folder), str(delay_seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own, no shell
        try:
            port = server.stdout.readline().strip() if server.stdout else ""
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def read_as_a_task(endpoint: str, size: int) -> int:
    """Go through the object window by window; bytes that were read."""
    with open_source("s3://bench", endpoint).ahead(NAME, 0, size) as stretch:
        return sum(len(stretch.read(at, min(at + WINDOW_BYTES, size))) for at in range(0, size, WINDOW_BYTES))


def read_plainly(endpoint: str, size: int) -> int:
    """Ask for all ranges, some at a time; bytes that were read."""
    step, readers = DEFAULT_ACCESS.range_bytes, DEFAULT_ACCESS.concurrency
    with urllib3.PoolManager(maxsize=readers) as web, ThreadPoolExecutor(readers) as pool:

        def read(at: int) -> int:
            headers = {"Range": f"bytes={at}-{min(at + step, size) - 1}"}
            return len(web.request("GET", f"{endpoint}/bench/{NAME}", headers=headers).data)

        return sum(pool.map(read, range(0, size, step)))


def measure_buckets(size: int, repetitions: int, card: Scorecard) -> None:
    """Lines of the scorecard."""
    with patch.dict(os.environ, CREDENTIALS), random_object(size) as folder, served(folder) as endpoint:
        readers = {"plain ranges": read_plainly, "bucket": read_as_a_task}
        read = [reader(endpoint, size) for reader in readers.values()]  # opens connections
        timings = interleaved({name: partial(reader, endpoint, size) for name, reader in readers.items()}, repetitions)
    card.tell_rates(timings, size / 1e9, "GB/s")
    ratio = median_ratio(timings["plain ranges"], timings["bucket"])
    card.goals += [
        Goal("a bucket, against a plain reader of ranges", ratio, "x", at_least=0.8),
        Goal("bytes of the bucket missing", max(size - one for one in read), "bytes", at_most=0),
    ]
    _measure_delayed(Spec(size // 1024, ledgers=2, chunk_share=0.02), repetitions, card)


def _measure_delayed(spec: Spec, repetitions: int, card: Scorecard) -> None:
    """A scan of one process: of files in the page cache, and of a bucket that takes its time before each answer."""
    with written(spec) as folder, patch.dict(os.environ, CREDENTIALS), served(folder, DELAY_SECONDS) as endpoint:
        backlog = Backlog(folder, spec.entries, 0)
        delayed = open_source("s3://bench", endpoint)
        sources = {"files, scanned": backlog.source, "a bucket with 50 ms, scanned": delayed}
        scans = {name: partial(_scanned_entries, source, backlog) for name, source in sources.items()}
        counted = [scan() for scan in scans.values()]  # compiles, opens connections
        timings = interleaved(scans, repetitions)
    card.tell_rates(timings, spec.entries / 1e6, "M entries/s")
    files, bucket = timings.values()
    card.goals += [
        Goal("scan of a bucket with 50 ms a request, against files", median_ratio(bucket, files), "x", at_most=1.2),
        Goal("entries of it missing", max(spec.entries - one for one in counted), "entries", at_most=0),
    ]


def _scanned_entries(source: Source, backlog: Backlog) -> int:
    """What a task does, in this process: entries that it wrote."""
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-scanned-") as out:
        places = {name: FolderPlace(Path(out) / name, "") for name in SCAN_TABLES}
        result = ScanTask(source, "bench", places)(backlog.units())
    return sum(rows_in_file(file) for file in result.files if file["table"] == "entries")


if __name__ == "__main__":
    serve(Path(sys.argv[1]), float(sys.argv[2]))
