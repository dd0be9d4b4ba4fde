"""What an audit finds against what the one before found, night after night, in both engines."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.findings.acknowledgements import Acknowledgement
from pulsar_backlog.steps.compared_tables import SOURCES
from pulsar_backlog.steps.comparison import put_together
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.blank_rows import complete_row
from tests.engines import ENGINES, asked_of, job_context, listed

NEEDS_SPARK = True

TOPIC = "persistent://t/n/a"
FINDING = {"cluster": "c", "job": "j", "code": "C06", "name": "n", "severity": "error", "subject": TOPIC,
    "topic": TOPIC, "count": 2, "sureness": "certain"}  # fmt: skip
UNREAD = {**FINDING, "code": "S02", "subject": "s", "topic": "persistent://t/n/b", "incomplete": True}
STALL = {"cluster": "c", "topic": TOPIC, "subscription": "s", "chunk_uuid": "u", "publish_time_ms": 7, "code": "C23",
    "unacked_entries": 1, "last_ledger_id": 5}  # fmt: skip
LOST = {"cluster": "c", "topic": TOPIC, "chunk_uuid": "u", "publish_time_ms": 7, "state": "gap", "flags": [],
    "sureness": "certain", "missing_chunk_count": 1, "last_ledger_id": 5}  # fmt: skip
READER = {"cluster": "c", "topic": TOPIC, "subscription": "s"}
STORED = {"cluster": "c", "topic": TOPIC, "ledger_id": 6, "selected": True}
GONE = {"cluster": "c", "topic": TOPIC, "ledger_id": 5, "gone_time": datetime.fromtimestamp(2, UTC), "expected": False}
RULE = {"cluster": "c", "rule": "r1", "severity": "warning", "failed": 1}

Night = Callable[..., dict[str, dict[str, Any]]]
"""Problems by kind and code after another night with these rows; `at` is its number."""


def rows_of(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    table = TABLES[name]
    made = [complete_row(table, row) for row in rows]
    return pa.Table.from_pylist(made, schema=arrow_schema(table))


@pytest.fixture(params=ENGINES)
def night(request: pytest.FixtureRequest, spark: SparkSession) -> Night:
    """Each night starts from the problems of the one before."""
    before: list[dict[str, Any]] = []

    def compare(
        at: int, covers: tuple[Acknowledgement, ...] = (), unfinished: str = "", **given: list[dict[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        tables = {name: rows_of(name, given.get(name, [])) for name in SOURCES}
        tables["problems"] = rows_of("problems", before)
        context = job_context(spark if request.param == "spark" else None)
        with asked_of(request.param, context, tables) as asked:
            put_together(asked, covers, f"run{at}", at * 1000, unfinished)
            found = listed(asked.table("SELECT * FROM compared", TABLES["problems"], {"cluster": "c"}))
        before[:] = found
        assert len({row["identity"] for row in found}) == len(found)
        return {f"{row['kind']} {row['code']}": row for row in found}

    return compare


def changes(problems: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: row["change"] for name, row in problems.items()}


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_news_once_then_still_there_then_healed_and_back(night: Night) -> None:
    all_of_it = {"findings": [FINDING], "stalls": [STALL], "chunked_messages": [LOST], "quality_results": [RULE]}
    first = night(1, **all_of_it)
    assert changes(first) == dict.fromkeys(("finding C06", "stall C23", "lost_message C09", "quality r1"), "new")
    again = night(2, **all_of_it)
    assert set(changes(again).values()) == {"still"}
    assert {name: row["identity"] for name, row in again.items()} == {n: row["identity"] for n, row in first.items()}
    passed = RULE | {"passed": True}
    healed = night(3, findings=[FINDING], chunked_messages=[LOST], quality_results=[passed], subscriptions=[READER])
    assert changes(healed) == {
        "finding C06": "still",
        "stall C23": "healed",
        "lost_message C09": "still",
        "quality r1": "healed",
    }
    stall = healed["stall C23"]
    assert (stall["first_seen"], stall["last_seen"], stall["healed_at"]) == (moment(1), moment(2), moment(3))
    later = night(4, findings=[FINDING])
    assert later["stall C23"] == stall, "what was healed before is not news"
    back = night(5, findings=[FINDING], stalls=[STALL])["stall C23"]
    assert (back["change"], back["times_back"], back["healed_at"], back["first_seen"]) == ("back", 1, None, moment(1))


def test_twice_as_many_as_when_it_was_news_are_worse(night: Night) -> None:
    counts = [
        (100, "new"),
        (110, "still"),
        (199, "still"),
        (200, "worse"),
        (399, "still"),
        (10, "still"),
        (400, "worse"),
    ]
    told = [night(at, findings=[FINDING | {"count": n}])["finding C06"] for at, (n, _) in enumerate(counts, 1)]
    assert [(row["count"], row["change"]) for row in told] == counts
    assert [row["news_count"] for row in told] == [100, 100, 100, 200, 200, 200, 400]
    assert told[-2]["count_before"] == 399
    other_words = night(9, findings=[FINDING | {"count": 1, "message": "other words"}])
    assert other_words["finding C06"]["change"] == "still"


def test_graver_is_worse(night: Night) -> None:
    night(1, chunked_messages=[LOST | {"sureness": "cannot_tell"}])
    assert night(2, chunked_messages=[LOST])["lost_message C09"]["change"] == "worse"


@pytest.mark.parametrize(
    ("unread", "change"),
    [
        (UNREAD, "healed"),  # of another topic
        (UNREAD | {"topic": TOPIC}, "unsure"),
        (UNREAD | {"topic": None}, "unsure"),  # of no known topic: it may be any
    ],
)
def test_what_vanishes_where_something_is_unread_is_not_healed(
    night: Night, unread: dict[str, Any], change: str
) -> None:
    night(1, findings=[FINDING])
    now = night(2, findings=[unread])["finding C06"]
    assert (now["change"], now["healed_at"] is None) == (change, change == "unsure")
    assert night(3, findings=[FINDING])["finding C06"]["change"] == ("back" if change == "healed" else "still")


def test_a_rule_is_not_healed_while_anything_is_unread(night: Night) -> None:
    night(1, quality_results=[RULE])
    assert night(2, findings=[UNREAD])["quality r1"]["change"] == "unsure"


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        # the ledger of the message left, whatever else could not be read
        ({"chunked_messages": [LOST]}, {"gone_ledgers": [GONE], "findings": [UNREAD | {"topic": TOPIC}]},
            "its ledger is no longer in the source"),
        ({"chunked_messages": [LOST]}, {"gone_ledgers": [GONE | {"expected": True}], "ledgers": [STORED]},
            "its ledger was trimmed, as the saved policies let it"),
        # no ledger of the topic is read any more
        ({"findings": [FINDING]}, {"gone_ledgers": [GONE]}, "its topic is no longer in the source"),
        # some are; what the finding was about may have been in the others
        ({"findings": [FINDING]}, {"gone_ledgers": [GONE], "ledgers": [STORED]},
            "not found any more, and ledgers of its topic left the source since"),
        ({"quality_results": [RULE]}, {"gone_ledgers": [GONE], "ledgers": [STORED]},
            "not found any more, and ledgers left the source since"),
        ({"stalls": [STALL]}, {"subscriptions": [READER | {"subscription": "other"}], "ledgers": [STORED]},
            "its subscription is no longer in the saved state"),
        # that ledgers left, or changed and were read again, is said of one audit
        ({"findings": [FINDING | {"code": "S43"}]}, {}, "it was said of one audit only"),
        ({"findings": [FINDING | {"code": "S17"}]}, {}, "it was said of one audit only"),
    ],
)  # fmt: skip
def test_what_left_with_its_data_is_gone_and_not_healed(
    night: Night, before: dict[str, Any], now: dict[str, Any], reason: str
) -> None:
    (name,) = night(1, **before)
    gone = night(2, **now)[name]
    assert (gone["change"], gone["reason"]) == ("gone", reason)
    assert (gone["healed_at"], gone["gone_at"]) == (None, moment(2))
    assert night(3, **{key: rows for key, rows in now.items() if key != "findings"})[name] == gone, "told once"
    back = night(4, **before)[name]
    assert (back["change"], back["gone_at"], back["times_back"]) == ("back", None, 1)


def test_what_vanishes_after_ledgers_left_long_ago_is_healed(night: Night) -> None:
    given = {"gone_ledgers": [GONE], "ledgers": [STORED]}
    for at in (1, 2):
        night(at, findings=[FINDING], **given)
    healed = night(3, **given)["finding C06"]
    assert (healed["change"], healed["healed_at"], healed["gone_at"]) == ("healed", moment(3), None)


def test_a_comparison_that_was_killed_has_told_nobody(night: Night) -> None:
    night(1, findings=[FINDING])
    night(2, stalls=[STALL])
    now = night(3, unfinished="run2", stalls=[STALL], subscriptions=[READER])
    assert changes(now) == {"finding C06": "healed", "stall C23": "new"}
    assert {row["run_id"] for row in now.values()} == {"run3"}
    assert now["finding C06"]["healed_at"] == moment(2)


def test_an_acknowledgement_covers_until_its_last_day_and_then_it_is_back(night: Night) -> None:
    cover = Acknowledgement(code="C06", subject="persistent://t/*/?", owner="me", reason="x", until=date(2026, 12, 31))
    covered = night(1, covers=(cover,), findings=[FINDING])["finding C06"]
    assert (covered["acknowledged_by"], covered["acknowledged_until"]) == ("me", "2026-12-31")
    assert night(2, covers=(cover,), findings=[FINDING])["finding C06"]["change"] == "still"
    back = night(3, findings=[FINDING])["finding C06"]
    assert (back["change"], back["reason"], back["acknowledged_by"]) == ("back", "its acknowledgement ended", None)
    assert night(4, findings=[FINDING])["finding C06"]["change"] == "still"


def test_names_that_run_into_each_other_are_two(night: Night) -> None:
    stalls = [STALL | {"topic": "ab", "subscription": "c"}, STALL | {"topic": "a", "subscription": "bc"}]
    night(1, stalls=stalls)  # `compare` holds the identities against each other


def test_a_resend_that_is_stored_whole_is_no_loss(night: Night) -> None:
    resent = LOST | {"state": "orphan_prefix", "flags": ["resend_residue"]}
    assert night(1, chunked_messages=[resent, LOST | {"state": "in_flight"}, LOST | {"rebuildable": True}]) == {}


def test_the_same_in_another_order_has_the_same_identities(night: Night) -> None:
    findings = [FINDING | {"subject": f"s{number}", "code": f"C0{number}"} for number in range(1, 5)]
    night(1, findings=findings)
    assert set(changes(night(2, findings=findings[::-1])).values()) == {"still"}
