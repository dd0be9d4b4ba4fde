"""A topic of a real 5.0.0-M1 that was migrated: its old partition and its segments are one topic for `--topic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pulsar_backlog.terms import EXIT_CLEAN
from tests.auditing import DATA, Audited, run_audit, run_job_of

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PULSAR5 = DATA / "pulsar5"
OBJECTS = PULSAR5 / "migrated"
LEGACY = {
    "persistent://acme/shop/legacy-partition-0",
    "segment://acme/shop/legacy/0000-7fff-2",
    "segment://acme/shop/legacy/8000-ffff-3",
}
SINGLE = {"persistent://acme/shop/single", "segment://acme/shop/single/0000-ffff-1"}


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of one of two migrated topics, and its export."""
    out = tmp_path_factory.mktemp("migrated")
    topic = ("topic://acme/shop/legacy",)
    found = run_audit(OBJECTS, out, admin=PULSAR5 / "admin", topic=topic)
    assert run_job_of("export", "export_messages", OBJECTS, out, topic=topic).exit_code == EXIT_CLEAN
    return found


def test_ledgers_of_the_old_partition_are_read_too(audited: Audited) -> None:
    assert {row["topic"] for row in audited.rows("ledgers", "topic")} == LEGACY
    assert {row["topic"] for row in audited.rows("entries", "topic")} == LEGACY


def test_messages_of_the_old_partition_are_exported_too(audited: Audited) -> None:
    assert {row["topic"] for row in audited.rows("messages", "topic")} == LEGACY


def test_the_other_topic_later_without_admin(audited: Audited) -> None:
    found = run_audit(OBJECTS, audited.out, topic=("topic://acme/shop/single",))
    assert {row["topic"] for row in found.rows("ledgers", "topic")} == LEGACY | SINGLE
    assert {row["topic"] for row in found.rows("entries", "topic")} == LEGACY | SINGLE
