"""A real topic of v4 clients whose last transaction was left open: its subscription waits for it, the audit says so.

What the brokers' saved settings say of themselves, a forecast plays.
"""

from __future__ import annotations

import json
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pulsar_backlog.command_line import app
from tests.auditing import DATA, Audited, run_one, run_scan

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PULSAR5 = DATA / "pulsar5"
TOPIC = "persistent://acme/shop/payments"
STATS = "acme__shop__payments.stats.json"


def with_consumer(folder: Path) -> Path:
    """The saved answers, with a consumer that the recorded moment lacks: it has permits and was sent nothing."""
    shutil.copytree(PULSAR5 / "admin", folder)
    stats = json.loads((folder / STATS).read_text())
    consumer = {"consumerName": "c1", "availablePermits": 990, "unackedMessages": 0}
    stats["subscriptions"]["settle"]["consumers"] = [consumer]
    (folder / STATS).write_text(json.dumps(stats))
    brokers = {"snapshotKind": "cluster", "version": "5.0.0-M1", "settings": {"dispatcherMaxReadBatchSize": "100"}}
    (folder / "cluster.json").write_text(json.dumps(brokers))
    return folder


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The objects with these answers, up to the analysis of subscriptions."""
    folder = tmp_path_factory.mktemp("open")
    options = {"admin": with_consumer(folder / "admin"), "topic": (TOPIC,)}
    run_scan(PULSAR5 / "objects", folder / "out", **options)
    for job in ("assemble_chunks", "model_consumers"):
        run_one(job, PULSAR5 / "objects", folder / "out", **options)
    return run_one("analyze_subscriptions", PULSAR5 / "objects", folder / "out", **options)


def test_the_open_transaction_is_a_reason(audited: Audited) -> None:
    rows: list[dict[str, Any]] = audited.rows("subscriptions", "topic", "subscription", "holdups")
    (holdups,) = (row["holdups"] for row in rows if (row["topic"], row["subscription"]) == (TOPIC, "settle"))
    (reason,) = holdups
    assert (reason["kind"], reason["sureness"], reason["remedy"]) == ("open_transaction", "likely", "end_transaction")
    # Of the four transactions the last is open; the broker's read position stands at its first entry.
    assert "from 15:14 on, where the cursor reads next" in reason["evidence"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ("5.0", "version", [100], "settings")),  # as this cluster has it, not as 5.0 has it by default
        (("--broker", "4.2"), ("4.2", "options", [100], "options")),
        (("--broker", "5.0"), ("5.0", "options", [500], "options")),
    ],
)
def test_a_forecast_plays_the_saved_brokers(
    audited: Audited, options: tuple[str, ...], expected: tuple[Any, ...]
) -> None:
    out = StringIO()
    who = ("--topic", TOPIC, "--subscription", "settle", "--consumers", "java 4.2")
    with redirect_stdout(out):
        app(["forecast", str(audited.out), *who, *options], standalone_mode=False)
    verdict = json.loads(out.getvalue().splitlines()[0])
    names = ("broker", "broker_from", "read_batches", "read_batches_from")
    assert tuple(verdict[name] for name in names) == expected
