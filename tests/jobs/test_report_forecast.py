"""The report of an audit says of a stalled subscription what `forecast` says, with the clients that were connected."""

from __future__ import annotations

import io
import json
import time
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest

from pulsar_backlog.command_line import app
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.auditing import Audited, run_one
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

HOUR_MS = 3_600_000
TOPIC = "persistent://lab/stuck/headless"
JOBS = (
    "inventory_ledgers", "scan_entries", "assemble_chunks", "model_consumers", "analyze_subscriptions",
    "check_quality", "write_report",
)  # fmt: skip


def stored(at: int, **chunk: Any) -> bytes:
    sent_ms = round(time.time() * 1000) - HOUR_MS
    metadata = MessageMetadata(producer_name=b"p", sequence_id=at, publish_time=sent_ms, **chunk)
    return entry(metadata.SerializeToString())


def save(admin: Path, count: int) -> None:
    """What `pulsar-admin topics stats` and `stats-internal` print: a Shared subscription that got to its end."""
    cursor = {
        "markDeletePosition": "7:-1", "readPosition": f"7:{count}", "individuallyDeletedMessages": "[]",
        "cursorLedger": -1, "state": "Open", "messagesConsumedCounter": 0, "properties": {},
    }  # fmt: skip
    internal = {
        "ledgers": [{"ledgerId": 7, "entries": count, "size": 1000}], "state": "LedgerOpened",
        "lastConfirmedEntry": f"7:{count - 1}", "cursors": {"s": cursor},
    }  # fmt: skip
    consumer = {"consumerName": "c", "availablePermits": 1000, "unackedMessages": 0}
    consumers = [consumer | {"clientVersion": version} for version in ("Pulsar-Java-v4.0.8", "Pulsar-CPP-v3.7.0")]
    subscription = {
        "type": "Shared", "msgBacklog": count, "msgInReplay": 1, "unackedMessages": 0, "consumers": consumers,
    }  # fmt: skip
    (admin / "lab__stuck__headless.internalStats.json").write_text(json.dumps(internal))
    stats = {"publishers": [], "subscriptions": {"s": subscription}}
    (admin / "lab__stuck__headless.stats.json").write_text(json.dumps(stats))


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    source, admin, out = (tmp_path_factory.mktemp(name) for name in ("source", "admin", "out"))
    lost = {"uuid": b"p-0", "num_chunks_from_msg": 2, "total_chunk_msg_size": 4}
    whole = {**lost, "uuid": b"p-1"}
    bodies = [stored(0, chunk_id=1, **lost), *(stored(1, chunk_id=at, **whole) for at in range(2)), stored(2)]
    put(source, offload(bodies, managed_ledger="lab/stuck/persistent/headless"), 7)
    save(admin, len(bodies))
    for job in JOBS[:-1]:
        run_one(job, source, out, admin=admin)
    return run_one(JOBS[-1], source, out, admin=admin)


def test_result_and_page_say_what_the_command_says(audited: Audited) -> None:
    (topic,) = audited.result["topics"]["rows"]
    (row,) = topic["subscriptions"]["rows"]
    found = row["forecast"]
    assert (found["consumers"], found["consumers_from"], found["entries"]) == ("java 4.0, cpp 3.7", "saved", 4)
    assert [stage["event"] for stage in found["stages"]][:3] == ["connect", "unload", "restart"]
    out = io.StringIO()
    who = ("--topic", TOPIC, "--subscription", "s", "--consumers", found["consumers"])
    with redirect_stdout(out):
        app(["forecast", str(audited.out), *who], standalone_mode=False)
    verdict = json.loads(out.getvalue().splitlines()[0])
    assert (found["verdict"], found["remedy"]) == (verdict["verdict"], verdict["remedy"])
    page = (audited.out / "report.html").read_text()
    assert found["verdict"].split(".")[0] in page
    assert "Remedy: unload" in page


def test_rows_of_the_schema(audited: Audited) -> None:
    import jsonschema

    from scripts.result_schema import result_schema

    jsonschema.validate(audited.result, result_schema())
