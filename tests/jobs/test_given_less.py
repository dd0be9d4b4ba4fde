"""An audit that is given less than the one before keeps what it was not asked about, and says how old that is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.auditing import ADMIN, Audited, copy_ledgers, run_audit, run_job_of

NEEDS_SPARK = True

BROKEN, TOPIC = 22, "persistent://lab/s3/brk-dup-prefix"
HEALTHY, OTHER = 267, "persistent://lab/s3/compact-plain"
OF_STATE = ("subscriptions", "ack_ranges", "stalls")
Whole = tuple[Path, Audited, dict[str, Any]]
JUDGED = ("chunked_messages", "inventory", "client_forecasts", "consumer_outcomes")


def tables(audited: Audited) -> dict[str, list[dict[str, Any]]]:
    found = {name: audited.rows(name) for name in (*OF_STATE, *JUDGED)}
    return {**found, "findings": sorted(audited.rows("findings"), key=lambda row: (row["code"], row["subject"]))}


def headline(audited: Audited) -> str:
    return str(audited.result["verdict"]["headline"])


def saved_admin(folder: Path, days: float, *names: str) -> Path:
    """A copy of the saved state, of the topics with these local names or of all, saved so many days ago."""
    folder.mkdir(parents=True)
    then = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for path in ADMIN.iterdir():
        if not names or path.name.split("__")[2].split(".")[0] in names:
            shutil.copy(path, folder)
            os.utime(folder / path.name, (then, then))
    return folder


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """Two ledgers with saved state of three days before; its folder goes away."""
    root = tmp_path_factory.mktemp("less")
    source = copy_ledgers(root / "objects", [BROKEN, HEALTHY])
    admin = saved_admin(root / "admin", 3.1)
    audited = run_audit(source, root / "out", admin=admin, cluster="c")
    shutil.rmtree(admin)
    yield source, audited, tables(audited)


def again(whole: Whole, folder: Path, **options: Any) -> Audited:
    """Another audit into a copy of what the first one left."""
    source, audited, _ = whole
    shutil.copytree(audited.out, folder)
    return run_audit(source, folder, cluster="c", **options)


def test_without_saved_state(whole: Whole, tmp_path: Path) -> None:
    _, first, before = whole
    assert before["stalls"]
    audited = again(whole, tmp_path / "out")
    assert tables(audited) == before
    assert headline(audited).startswith(headline(first))
    then = datetime.now(UTC) - timedelta(days=3.1)
    said = f"Subscriptions are as saved on {then:%Y-%m-%d}"
    assert said in headline(audited)
    assert headline(audited).endswith("UTC, 3 days before; this audit was given no saved state.")
    assert said in audited.stdout
    assert said in (audited.out / "report.html").read_text()
    assert run_audit(whole[0], audited.out, cluster="c").exit_code in (1, 99)
    assert said in headline(audited), "nothing new, and still said"
    plan = run_job_of("repair_plan", "plan_repair", whole[0], audited.out, cluster="c")
    assert said in plan.stdout
    given = run_audit(whole[0], audited.out, cluster="c", admin=saved_admin(tmp_path / "admin", 0))
    assert "as saved on" not in Audited(0, "", "", given.out, "").result["verdict"]["headline"]
    assert {name: given.rows(name) for name in OF_STATE} == {name: before[name] for name in OF_STATE}


def test_with_saved_state_that_lacks_a_topic(whole: Whole, tmp_path: Path) -> None:
    before = whole[2]
    audited = again(whole, tmp_path / "out", admin=saved_admin(tmp_path / "admin", 1.1, "compact-plain"))
    for name in OF_STATE:
        assert audited.rows(name) == before[name], name
    assert "as saved on" in headline(audited)
    assert headline(audited).endswith("UTC, 3 days before; this audit's saved state lacks them.")
    assert "Subscriptions of 46 topics are" in headline(audited)


def test_with_fewer_topics(whole: Whole, tmp_path: Path) -> None:
    before = whole[2]
    audited = again(whole, tmp_path / "out", admin=saved_admin(tmp_path / "admin", 3.1), topic=("*/compact-plain",))
    for name in (*OF_STATE, *JUDGED):
        assert audited.rows(name) == before[name], name
    assert "This audit was narrowed by --topic; the rest is of the audit of" in headline(audited)
    assert headline(audited).endswith("UTC, less than a day before.")


def test_what_is_gone_meanwhile_is_not_stalled_on(whole: Whole, tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path / "objects", [HEALTHY])
    shutil.copytree(whole[1].out, tmp_path / "out")
    audited = run_audit(source, tmp_path / "out", cluster="c")
    assert [row for row in audited.rows("stalls") if row["topic"] == TOPIC] == []
    known = [row["topic"] for row in whole[2]["subscriptions"]]
    assert [row["topic"] for row in audited.rows("subscriptions")] == known
    assert "as saved on" in headline(audited)


def test_an_audit_that_was_never_given_state(spark: SparkSession, tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path / "objects", [HEALTHY])
    audited = run_audit(source, tmp_path / "out", cluster="c")
    assert "as saved on" not in headline(audited)
    assert "No saved state of subscriptions is given (--admin)" in audited.stderr
