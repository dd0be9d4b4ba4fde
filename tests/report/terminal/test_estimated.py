"""What `estimate` and `rebuild-index` say to a person."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.terminal.estimated import Estimate, Measured, print_estimate
from pulsar_backlog.report.terminal.rebuilt import Rebuilt, print_rebuilt

MEASURED = Measured(16, 64_000_000, 60_000, 2.0, 0.1, None)
FOUND = Estimate(2_000_000, 900_000, 1_000_000, 7, 0, 5 * 2**40, 10**9, 2000, 1_700_000, 0.69, 4, 43_200.0, MEASURED)


def estimated(found: Estimate) -> str:
    out = io.StringIO()
    print_estimate(
        found,
        Run("s3://bucket/it's", "DIR", {"endpoint": "http://minio:9000"}),
        Console(file=out, width=400, force_terminal=True, no_color=True),
    )
    return out.getvalue()


def test_the_answer_first() -> None:
    first, asks, holds, copies, measured, following, less = estimated(FOUND).splitlines()
    assert "An audit reads 5.0 TiB of 900,000 ledgers, and takes about 12 h with 4 processes such as this." in first
    assert asks == "It asks the bucket 2,000 requests that list, 1,700,000 that read: 0.69 at the given prices."
    assert holds == "The source holds 2,000,000 objects: 7 are none of a ledger that is read."
    assert copies == "100,000 further copies of ledgers: looked at, not scanned."
    assert "61.0 MiB of 16 ledgers (60,000 entries) at 32.0 MB/s in one process. That is a small sample" in measured
    assert following == "Next: pulsar-backlog audit 's3://bucket/it'\"'\"'s' --out DIR --endpoint http://minio:9000"
    assert "--sample 10" in less


def test_a_lower_bound_and_no_measurement() -> None:
    said = estimated(replace(FOUND, unreadable=2, seconds=None, cost=None, copies=900_000,
                             measured=Measured(0, 0, 0, 0.0, 0.1, None)))  # fmt: skip
    assert "An audit reads at least 5.0 TiB" in said
    assert "is unknown" in said
    assert "2 parts of the source could not be listed and may hold more." in said
    assert "Nothing could be measured." in said
    assert "requests" not in said and "further" not in said


MADE = Rebuilt(
    22, "uuid", "jcloud", "s3://b/uuid-ledger-22", "/made/x\x1b[2J", 2, 7, 4000, ("when the ledger was created",),
    {"role": "index", "managedledgername": "a/\x1b"}, None,
)  # fmt: skip


def rebuilt(made: Rebuilt) -> str:
    out = io.StringIO()
    print_rebuilt(made, Console(file=out, width=400, force_terminal=True, no_color=True))
    return out.getvalue()


def test_what_was_made() -> None:
    said = rebuilt(MADE)
    assert "Made an index of ledger 22, and read the whole ledger through it" in said
    assert ": 7 entries, 2 blocks, 4,000 bytes." in said
    assert "Not known: when the ledger was created." in said
    assert "managedledgername=a/\\x1b role=index" in said
    assert "\x1b[2J" not in said
    assert "Next: aws" in rebuilt(replace(MADE, upload="aws s3api put-object"))
    mapfile = rebuilt(replace(MADE, kind="filesystem", unknown=()))
    assert "7 entries, 2 pairs" in mapfile
    assert "remove an older .index.crc" in mapfile
    assert "user metadata" not in mapfile
