"""The verdict names what was found and never sounds better than it is."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.chunks import rows as chunk_rows
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.report.acks import SubscriptionFacts, TopicAcks
from pulsar_backlog.report.codes import URGENT, by_code
from pulsar_backlog.report.model import FindingTotal, LedgerFacts, PublicationGroup, ReportModel, TopicSection
from pulsar_backlog.report.outcomes import outcome
from pulsar_backlog.report.verdict import judge, topic_line
from pulsar_backlog.report.views import judged
from pulsar_backlog.report.words import FLAGS, STATES, natural
from pulsar_backlog.subscriptions.advice import Advice, NeedCount
from tests.report.sample_consumers import blocked_acks, stall, subscription
from tests.report.sample_models import clean, empty, lab
from tests.report.sample_parts import MIXED, finding, group, quality, section, totals

STATE_NAMES = get_args(chunk_rows.State)
FLAG_NAMES = get_args(chunk_rows.Flag)


def with_groups(*groups: PublicationGroup) -> ReportModel:
    return replace(clean(), groups=groups)


def test_every_state_and_flag_has_words() -> None:
    assert set(STATES) == set(STATE_NAMES)
    assert set(FLAGS) == set(FLAG_NAMES)
    assert set(URGENT) <= set(CATALOGUE)


@pytest.mark.parametrize(
    ("state", "flags", "rebuildable", "sureness", "expected"),
    [
        ("whole", [], True, "certain", "fine"),
        ("whole", ["ledger_span"], True, "certain", "fine"),
        ("whole", ["tail_residue"], True, "certain", "odd"),
        ("whole", ["repeated_prefix"], True, "certain", "rescue"),
        ("whole", ["overlap"], True, "certain", "rescue"),
        ("whole", ["corrupt_copy"], True, "certain", "odd"),
        ("whole", ["corrupt_copy"], False, "certain", "damaged"),
        ("whole", ["sizes_lie"], False, "certain", "blocking"),
        ("whole", ["decode_fault", "overlap"], True, "certain", "blocking"),
        ("out_of_order", [], True, "certain", "rescue"),
        ("out_of_order", ["corrupt_copy"], False, "certain", "damaged"),
        ("orphan_prefix", [], False, "certain", "lost"),
        ("orphan_prefix", ["resend_residue"], False, "certain", "odd"),
        ("orphan_prefix", ["resend_residue", "uuid_reused"], False, "likely", "odd"),
        ("headless", [], False, "likely", "lost"),
        ("gap", [], False, "cannot_tell", "maybe_lost"),
        ("in_flight", ["sizes_lie"], False, "likely", "in_flight"),
        ("malformed", ["sizes_lie"], False, "certain", "malformed"),
        ("of a newer version", [], True, "certain", "rescue"),
        ("of a newer version", [], False, "certain", "maybe_lost"),
    ],
)
def test_outcome(state: str, flags: list[str], rebuildable: bool, sureness: str, expected: str) -> None:
    assert outcome(state, flags, rebuildable, sureness) == expected


AT = "Topic persistent://lab/s3/multi-chunk: "
"""How the headline of an audit of one topic begins."""


@pytest.mark.parametrize(
    ("model", "grade", "headline"),
    [
        (clean(), "clean", "Nothing wrong was found in 1 topic, 425 entries."),
        (empty(), "nothing", "Nothing was audited: no ledger was found, 1 object could not be read in full."),
        (replace(clean(), exit_code=4), "incomplete",
            "Something could not be read; in the rest (1 topic, 425 entries) no error was found."),
        (with_groups(group("gap", 2), group("headless", 1)), "broken", f"{AT}3 messages are lost (certain)."),
        (with_groups(group("gap", 1)), "broken", f"{AT}1 message is lost (certain)."),
        (with_groups(group("gap", 3), group("out_of_order", 2)), "broken",
            f"{AT}3 messages are lost (certain), and 1 other kind of error."),
        (with_groups(group("gap", 1, sureness="cannot_tell")), "broken", f"{AT}1 message may be lost (cannot tell)."),
        (with_groups(group("gap", 1, sureness="of a newer version")), "broken",
            f"{AT}1 message may be lost (cannot tell)."),
        (with_groups(group("whole", 1, MIXED)), "broken", f"{AT}1 message may be delivered mixed with another."),
        (with_groups(group("in_flight", 1)), "clean",
            "Nothing wrong was found in 1 topic, 425 entries; 1 message may still be arriving."),
        (replace(clean(), counts=replace(clean().counts, rejected=2)), "broken",
            f"{AT}2 entries could not be decoded."),
        (replace(clean(), counts=replace(clean().counts, ledgers_not_ok=1)), "incomplete",
            "1 ledger could not be read in full; in the rest (1 topic, 425 entries) no error was found."),
        (replace(clean(), finding_totals=(FindingTotal("E01", "error", False, 1, 7),)), "broken",
            f"{AT}7 entries fail their checksum."),
        (replace(clean(), finding_totals=(FindingTotal("S07", "error", False, 2, 2),)), "broken",
            f"{AT}2 errors: copies disagree (S07)."),
        (replace(clean(), finding_totals=(FindingTotal("E02", "error", True, 1, 3),)), "broken",
            f"{AT}3 entries could not be decoded."),
        (replace(clean(), finding_totals=(FindingTotal("E01", "error", True, 1, 3),)), "broken",
            f"{AT}3 entries fail their checksum, something could not be read."),
        # The findings say lost, the publications say whole: a contradiction must not look clean.
        (replace(clean(), finding_totals=(FindingTotal("C06", "error", False, 2, 2),)), "broken",
            f"{AT}2 errors: orphan prefix (C06)."),
        (replace(clean(), groups=(group("gap", 1),), finding_totals=(FindingTotal("C09", "error", False, 1, 1),)),
            "broken", f"{AT}1 message is lost (certain)."),
        (replace(clean(), groups=(group("whole", 1, "copies_differ"), group("gap", 1)),
            finding_totals=(FindingTotal("C35", "error", False, 1, 1),)),
            "broken", f"{AT}1 message is lost (certain), and 1 other kind of error."),
        (replace(clean(), groups=(), finding_totals=(FindingTotal("C06", "error", False, 2, 2),)), "broken",
            f"{AT}2 errors: orphan prefix (C06)."),
        (replace(clean(), finding_totals=(FindingTotal("C04", "warning", False, 3, 3),)), "odd",
            "No error was found in 1 topic, 425 entries, but 3 warnings."),
        (replace(clean(), quality=(quality("r", False, "s", 2, ["ledger:1"]),)), "broken",
            f"{AT}1 data-quality rule failed."),
    ],
)  # fmt: skip
def test_grade_and_headline(model: ReportModel, grade: str, headline: str) -> None:
    verdict = judge(model)
    assert (verdict.grade, verdict.headline) == (grade, headline)


groups = st.builds(
    PublicationGroup,
    state=st.sampled_from(STATE_NAMES),
    flags=st.lists(st.sampled_from(FLAG_NAMES), unique=True).map(tuple),
    rebuildable=st.booleans(),
    sureness=st.sampled_from(["certain", "likely", "cannot_tell"]),
    publications=st.integers(1, 5),
)
finding_totals = st.builds(
    FindingTotal,
    code=st.sampled_from(sorted(CATALOGUE)),
    severity=st.sampled_from(["error", "warning", "info"]),
    incomplete=st.booleans(),
    findings=st.integers(1, 5),
    count=st.integers(1, 50),
)


@given(
    st.lists(groups, max_size=4).map(tuple),
    st.lists(finding_totals, max_size=4).map(tuple),
    st.sampled_from([0, 1, 4, 99]),
    st.integers(0, 2),
)
def test_nothing_unreadable_or_wrong_is_ever_called_clean(
    found: tuple[PublicationGroup, ...], codes: tuple[FindingTotal, ...], exit_code: int, rejected: int
) -> None:
    counts = replace(clean().counts, rejected=rejected)
    model = replace(clean(), groups=found, finding_totals=codes, exit_code=exit_code, counts=counts)
    verdict = judge(model)
    unreadable = exit_code == 4 or any(t.incomplete for t in codes)
    error = rejected > 0 or any(t.severity == "error" for t in codes)
    states = ("gap", "headless", "orphan_prefix", "malformed")
    # What a resend left is no loss: the message is stored whole elsewhere.
    lost = any(g.state in states and "resend_residue" not in g.flags for g in found)
    if unreadable:
        assert not verdict.complete
        assert "could not be" in verdict.headline or "left unread on purpose" in verdict.headline
        assert "may hold more" in verdict.sureness
    if unreadable or error or lost:
        assert verdict.grade in ("broken", "incomplete")
        assert "othing wrong" not in verdict.headline
        assert verdict.facts
    if lost or (error and not unreadable):
        assert verdict.grade == "broken"


def test_what_was_left_unread_on_purpose_is_in_every_verdict() -> None:
    left = finding("S29", "topic", "3 ledgers are not read yet.", count=3, incomplete=True)
    told = FindingTotal("S29", "warning", True, 1, 3)
    healthy = judge(replace(clean(), findings=(left,), finding_totals=(told,), exit_code=4))
    assert (healthy.grade, healthy.complete) == ("incomplete", False)
    assert healthy.headline.startswith("3 ledgers left unread on purpose; in the rest (")
    broken = judge(replace(clean(), groups=(group("gap", 1),), finding_totals=(told,), exit_code=4))
    assert (broken.grade, broken.label) == ("broken", "Errors found, and not everything was read")
    assert "3 ledgers left unread on purpose" in broken.headline
    for verdict in (healthy, broken):
        assert "What was not read may hold more." in verdict.sureness
        assert not any("could not be read" in fact.what for fact in verdict.facts)
    topic = section("topic", 7, 10, 100, findings=[left])
    assert topic_line(topic) == ("incomplete", "3 ledgers left unread on purpose")


def test_facts_say_how_sure_and_for_whom() -> None:
    by_what = {f.what: f for f in judge(lab()).facts}
    assert by_what["5 messages are lost"].sureness == "certain for 4, likely for 1"
    assert by_what["1 more may be lost"].sureness == "cannot tell"
    assert by_what["2 more can be rebuilt although clients lose them"].who == "Whoever waits for it"
    assert judge(lab()).sureness == (
        "How sure, of broken messages: certain for 7, likely for 1, cannot tell for 1. "
        "What was not read may hold more. The broker knows ledgers that are not in this audit."
    )


def test_steps_come_in_order_of_urgency_and_share_commands() -> None:
    steps = [step for step in judge(lab()).steps if step.remedies]
    assert [r.code for r in steps[0].remedies] == ["C14", "C33", "C06", "C08", "C09", "C10"]
    assert (
        steps[1].command == "pulsar-backlog explain tests/data/backlog/objects --admin tests/data/backlog/admin 292:8"
    )
    assert len({s.command for s in steps}) == len(steps)


def test_what_to_do_begins_with_what_puts_the_worst_subscription_right() -> None:
    first, second, *rest = judge(lab()).steps
    chosen = "--cluster lab --topic persistent://lab/s3/brk2-bad-zstd"
    assert first.command == f"pulsar-backlog export demo-out {chosen}"
    assert second.command == f"pulsar-backlog repair plan demo-out {chosen} --subscription billing"
    assert {step.subscription for step in (first, second)} == {"billing"}
    assert all(step.changes.startswith("Changes nothing on the cluster: it ") for step in (first, second))
    assert all(step.remedies and step.subscription is None for step in rest)


def test_without_a_blocked_subscription_the_one_with_most_to_do_comes_first() -> None:
    acks = blocked_acks()
    waiting = replace(
        acks.subscriptions[0],
        blocked_at=None,
        stalls=(stall("u", (13, 4), blocks_dispatch=False, action="skip"),),
    )
    sections = tuple(
        section(f"t-{n}", n, 1, 1, acks=replace(
            acks, blocked=0,
            subscriptions=(replace(waiting, row={**waiting.row, "stalls": n, "subscription": f"s-{n}"},
                    advice=Advice((NeedCount("acknowledge", n),))),),
        ))
        for n in (0, 1, 3, 2)
    )  # fmt: skip
    model = replace(clean(), topics=sections)
    assert [step.command for step in judge(model).steps] == [
        "pulsar-backlog repair plan out --cluster lab --topic t-3 --subscription s-3"
    ]


def test_totals_win_over_the_listed_rows() -> None:
    rows = [finding("C06", f"u-{n}", "m", count=2, sureness=("likely", "certain")[n % 2]) for n in range(3)]
    counted = by_code(rows, [FindingTotal("C06", "error", False, 40, 90)])[0]
    assert (counted.findings, counted.count, counted.unlisted, counted.sureness) == (40, 90, 37, ("certain", "likely"))
    uncounted = by_code(rows, [])[0]
    assert (uncounted.findings, uncounted.count, uncounted.unlisted) == (3, 6, 0)


def test_codes_come_worst_first() -> None:
    rows = [finding(code, "s", "m") for code in ("S03", "C04", "S14", "C10", "C06", "C14", "S02")]
    assert [g.kind.code for g in by_code(rows, totals(rows))] == ["S02", "C14", "C06", "C10", "S14", "C04", "S03"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ("clean", "nothing wrong found")),
        ({"groups": (group("in_flight", 2),)}, ("clean", "2 messages may still be arriving")),
        ({"ledgers": (LedgerFacts(1, None, None, "unreadable"),)},
            ("incomplete", "1 ledger could not be read in full")),
        ({"groups": (group("gap", 1),), "rejected": 1},
            ("broken", "1 message is lost, 1 entry could not be decoded")),
        ({"findings": [finding("C04", "u", "m")], "groups": (group("in_flight", 1),)},
            ("odd", "1 warning, 1 message may still be arriving")),
    ],
)  # fmt: skip
def test_topic_line(more: dict[str, object], expected: tuple[str, str]) -> None:
    assert topic_line(section("t", 1, 10, 100, **more)) == expected


def test_topics_of_equal_rank_come_in_the_order_of_their_numbers() -> None:
    sections = [
        section(name, 1, 10, 100) for name in ("t10", "t2", "a-0010", "a-9", "t1-partition-11", "t1-partition-3")
    ]
    assert [one.topic for _, one in judged(sections)] == [
        "a-9", "a-0010", "t1-partition-3", "t1-partition-11", "t2", "t10",
    ]  # fmt: skip
    assert natural("9" * 10_000) < natural("1" + "0" * 10_000)  # no integer has so many digits


def test_topics_of_blocked_subscriptions_come_in_the_order_of_these() -> None:
    def blocked(name: str, place: int, lost: int) -> TopicSection:
        facts = SubscriptionFacts(subscription("s"), (1, 0), "likely", blocked_place=place)
        return section(name, 1, 10, 100, acks=TopicAcks(None, (facts,), 1, 1), groups=(group("gap", lost),))

    sections = [blocked("third", 7, 900), blocked("first", 1, 0), blocked("second", 3, 5)]
    assert [one.topic for _, one in judged(sections)] == ["first", "second", "third"]
