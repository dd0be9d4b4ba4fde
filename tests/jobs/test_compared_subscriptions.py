"""`compare` on two audits with saved state: what consumers would get again or skip on the other side."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.commands.compare import run_compare
from tests.auditing import rows_of, run_audit
from tests.replicas.logs import replicated, sent, single, store

NEEDS_SPARK = True

TOPIC = "persistent://shop/eu/orders"
SENT = sent(10)
COUNTS = ("open_messages", "again_messages", "acked_messages", "absent_messages")
# mark-delete of A and of B: all up to that entry is acknowledged
CURSORS = {"moves": (4, 6), "lags": (6, 2), "level": (3, 3), "home": (3, None)}


def save_state(folder: Path, side: int, ledger: int, entries: int) -> Path:
    """What a broker says of the topic; only `home` is not replicated."""
    folder.mkdir()
    marks = {name: places[side] for name, places in CURSORS.items()}
    cursors = {
        name: {
            "markDeletePosition": f"{ledger}:{mark}", "readPosition": f"{ledger}:{mark + 1}",
            "individuallyDeletedMessages": "[]", "cursorLedger": -1, "cursorLedgerLastEntry": -1, "state": "NoLedger",
            "properties": {},
        }
        for name, mark in marks.items() if mark is not None
    }  # fmt: skip
    internal = {
        "ledgers": [{"ledgerId": ledger, "entries": entries, "size": 1000, "offloaded": True}],
        "lastConfirmedEntry": f"{ledger}:{entries - 1}", "state": "LedgerOpened", "cursors": cursors,
    }  # fmt: skip
    said = {name: {"isReplicated": name != "home", "type": "Shared", "consumers": []} for name in cursors}
    (folder / "shop__eu__orders.internalStats.json").write_text(json.dumps(internal))
    (folder / "shop__eu__orders.stats.json").write_text(json.dumps({"subscriptions": said, "publishers": []}))
    return folder


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A comparison of ten messages with nine of them: the last one is still on its way."""
    folder = tmp_path_factory.mktemp("failover")
    outs = []
    for side, (name, log, ledger) in enumerate((("eu", SENT, 10), ("us", replicated(SENT[:9]), 20))):
        source = store(folder / name, {"orders": [[single(one) for one in log]]}, ledger)
        admin = save_state(folder / f"{name}-admin", side, ledger, len(log))
        audited = run_audit(source, folder / f"{name}-audit", cluster=name, admin=str(admin))
        assert audited.exit_code in (0, 1), audited.stderr
        outs.append(str(audited.out))
    words = io.StringIO()
    with redirect_stdout(words), redirect_stderr(words):
        code = run_compare(*outs, {"out": str(folder / "compared")})
    assert code in (0, 1), words.getvalue()
    return folder / "compared"


def rows(out: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["subscription"], row["side"]): row for row in rows_of(out, "compared_subscriptions")}


def test_each_subscription_and_way(out: Path) -> None:
    made = {key: tuple(row[name] for name in COUNTS) for key, row in rows(out).items()}
    assert made == {
        # whoever goes to B gets the last three but one, and never the two that B knows as acknowledged
        ("moves", "b"): (2, 0, 2, 1),
        ("moves", "a"): (5, 2, 0, 0),
        ("lags", "b"): (6, 4, 0, 1),
        ("lags", "a"): (3, 0, 4, 0),
        ("level", "b"): (5, 0, 0, 1),
        ("level", "a"): (6, 0, 0, 0),
        ("home", "b"): (None,) * 4,
        ("home", "a"): (None,) * 4,
    }
    sure = {key: row["sureness"] for key, row in rows(out).items()}
    assert {key for key, word in sure.items() if word == "cannot_tell"} == {("home", "a"), ("home", "b")}
    assert rows(out)["home", "b"]["reason"].startswith("B knows no such subscription")


def test_what_would_be_skipped_is_a_finding(out: Path) -> None:
    """Not what comes again, nor what only did not arrive yet."""
    skips = {row["subject"]: row for row in rows_of(out, "findings") if row["code"] == "D11"}
    assert {subject: (row["count"], row["evidence"]) for subject, row in skips.items()} == {
        f"{TOPIC} a": (4, ["lags: 4"]),
        f"{TOPIC} b": (2, ["moves: 2"]),
    }


def test_result_has_them(out: Path) -> None:
    result = json.loads((out / "result.json").read_text())
    assert {(row["subscription"], row["side"]) for row in result["subscriptions"]} == set(rows(out))
