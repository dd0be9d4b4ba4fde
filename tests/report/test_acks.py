"""Strips: what is drawn is what is acknowledged, at any size; subscriptions in words, worst first."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.acks import CELLS, AckCell, Axis, SubscriptionFacts, TopicAcks
from pulsar_backlog.report.acks_view import details, subscription_views
from pulsar_backlog.report.strips import LEAST_SHARE, MAX_TABLE_ROWS, STRIP_HEIGHT, strip
from pulsar_backlog.subscriptions.advice import HOW, LABELS, Advice, Need, NeedCount, advice_on
from tests.report.page_reader import Element, PageReader, front
from tests.report.sample_consumers import ADVICE, blocked_acks, hostile_acks, many_holes, stall, subscription
from tests.report.sample_models import lab

sizes = st.lists(st.integers(1, 10**9), min_size=1, max_size=CELLS)


def heights(path: str) -> list[float]:
    """The height of each cell, read back from the path."""
    assert path.startswith(f"M0 {STRIP_HEIGHT}")
    assert path.endswith(f"V{STRIP_HEIGHT}z")
    steps = re.findall(r"V([\d.e+-]+)h(\d+)", path)
    return [STRIP_HEIGHT - float(top) for top, width in steps for _ in range(int(width))]


def axis_of(entries: list[int]) -> Axis:
    starts = [sum(entries[:at]) for at in range(len(entries))]
    return Axis(tuple((7, start) for start in starts), tuple(entries), (7, sum(entries) - 1))


def facts_of(cells: list[AckCell], **row: object) -> SubscriptionFacts:
    return SubscriptionFacts(subscription("s", **row), cells=tuple(cells))


@given(sizes, st.data())
def test_heights_are_shares_and_neither_side_is_ever_invisible(entries: list[int], data: st.DataObject) -> None:
    unacked = [data.draw(st.integers(0, size)) for size in entries]
    cells = [AckCell(at, n, 1, 0, False) for at, n in enumerate(unacked) if n]
    drawn = strip(axis_of(entries), facts_of(cells))
    assert drawn is not None
    found = heights(drawn.acked)
    assert len(found) == drawn.cells == len(entries)
    for height, size, left in zip(found, entries, unacked, strict=True):
        share = height / STRIP_HEIGHT
        if left in (0, size):
            assert share == (left == 0)
        else:
            assert LEAST_SHARE - 0.01 <= share <= 1 - LEAST_SHARE + 0.01
            exact = 1 - left / size
            assert abs(share - exact) <= max(LEAST_SHARE - min(exact, 1 - exact), 0) + 0.01


@given(sizes, st.data())
def test_table_adds_up_and_is_short(entries: list[int], data: st.DataObject) -> None:
    unacked = [data.draw(st.integers(0, size)) for size in entries]
    cells = [AckCell(at, n, 1, 2, False) for at, n in enumerate(unacked) if n]
    drawn = strip(axis_of(entries), facts_of(cells))
    assert drawn is not None
    rows = drawn.stretches
    assert len(rows) <= MAX_TABLE_ROWS
    assert sum(row.entries for row in rows) == sum(entries)
    assert sum(row.unacked for row in rows) == sum(unacked)
    assert sum(row.holes for row in rows) == len(cells)
    assert sum(row.stalls for row in rows) == 2 * len(cells)
    places = [edge[1] for row in rows for edge in (row.first, row.last)]
    assert places == sorted(places)
    assert all(row.last[1] - row.first[1] + 1 == row.entries for row in rows)


def test_many_short_stretches_are_read_in_equal_ones() -> None:
    drawn = strip(axis_of([2] * CELLS), facts_of([AckCell(at, 2, 1, 0, False) for at in range(0, CELLS, 2)]))
    assert drawn is not None
    assert [(row.entries, row.unacked, row.holes) for row in drawn.stretches] == [(16, 8, 4)] * MAX_TABLE_ROWS


@pytest.mark.parametrize(
    ("batches", "expected"),
    [(0, "2 holes of 5 entries"), (1, "2 holes of 5 entries, 1 batch in part"),
     (3, "2 holes of 5 entries, 3 batches in part")],
)  # fmt: skip
def test_batches_that_are_acknowledged_in_part(batches: int, expected: str) -> None:
    row = subscription("s", backlog_entries=5, holes=2, hole_entries=5, batch_holes=batches)
    assert dict(details(row))["Holes"] == expected


def test_ten_thousand_holes_are_one_small_profile() -> None:
    facts = many_holes().subscriptions[0]
    drawn = strip(many_holes().axis, facts)
    assert drawn is not None
    assert len(drawn.acked) < 1500
    found = heights(drawn.acked)
    assert found == sorted(found, reverse=True)  # ever more holes towards the end
    assert drawn.marks == sum(bool(cell.stalls) for cell in facts.cells)
    assert len(re.findall("M", drawn.blocks)) == 1
    assert drawn.blocks.startswith("M7 ")


@pytest.mark.parametrize(
    ("position", "percent"),
    [
        ((7, -1), 0.0),  # before everything
        ((7, 0), 12.5),  # mark-delete is drawn after the entry that it names
        ((7, 3), 50.0),
        ((7, 7), 100.0),
        ((6, 99), 0.0),  # a ledger that is trimmed
        ((9, 0), 100.0),  # one that is not stored yet
    ],
)
def test_mark_delete_lies_behind_what_it_names(position: tuple[int, int], percent: float) -> None:
    drawn = strip(
        axis_of([2, 2, 2, 2]), facts_of([], mark_delete_ledger_id=position[0], mark_delete_entry_id=position[1])
    )
    assert drawn is not None
    assert drawn.mark_delete == percent


def test_a_stretch_that_ends_with_a_ledger_says_so() -> None:
    axis = Axis(((7, 0), (8, 0)), (5, 5), (8, 4))
    drawn = strip(axis, facts_of([AckCell(1, 5, 0, 0, False)]))
    assert drawn is not None
    assert [(row.first, row.last, row.before) for row in drawn.stretches] == [
        ((7, 0), (8, 0), True),
        ((8, 0), (8, 4), False),
    ]


def test_nothing_is_drawn_of_what_is_not_known() -> None:
    assert strip(axis_of([1]), facts_of([], state="unknown")) is None
    assert strip(None, facts_of([])) is None


def test_cells_beyond_the_axis_are_left_out() -> None:
    acks = hostile_acks("x")
    drawn = strip(acks.axis, acks.subscriptions[0])
    assert drawn is not None
    assert heights(drawn.acked) == [0, 24]
    assert (drawn.mark_delete, drawn.read) == (0.0, 100.0)


def test_every_need_has_words() -> None:
    assert set(LABELS) == set(HOW) == set(get_args(Need))


def section_of(name: str) -> Element:
    page = PageReader(front(lab())).root
    subscriptions = [s for s in page.all("section") if s.attrs.get("class") == "sub"]
    return next(s for s in subscriptions if name in s.all("h5")[0].full_text())


def text_of(element: Element) -> str:
    return re.sub(r"\s+", " ", " ".join(e.text for e in element.everything()))


def test_blocked_subscription_says_where_and_what_next() -> None:
    section = section_of("billing")
    text = text_of(section)
    for words in (
        "Is stalled at 13:3: nothing behind it is delivered.",
        "5 entries, 5 messages, 8.8 KiB not acknowledged, in 1 hole and after the last acknowledged entry.",
        "What to do about 1 chunk set, and the numbers",
        "Export, verify, then acknowledge (1 chunk set); wait (8 chunk sets); java reconnects for ever at 13:3",
        "And 7 more chunk sets in the table stalls.",
        "Redelivered if the broker restarts now 3 entries, 700 B, from 13:2",
        "ranges (assumed: no settings of its brokers were saved); the next persist drops 3 acknowledged entries",
        "back to before 13:0, 4 entries (5.9 KiB) again",
        "stored 240 B (long array); 40 B as ranges, 24 B as long arrays",
    ):
        assert words in text, words
    assert ADVICE in text
    assert [pre.full_text() for pre in section.all("pre")] == [
        "pulsar-backlog export demo-out --cluster lab --topic persistent://lab/s3/brk2-bad-zstd",
        "pulsar-backlog repair plan demo-out --cluster lab --topic persistent://lab/s3/brk2-bad-zstd "
        "--subscription billing",
        "pulsar-backlog explain tests/data/backlog/objects --admin tests/data/backlog/admin 13:7",
    ]
    rows = [[cell.full_text() for cell in tr.children] for tr in section.all("tbody")[0].all("tr")]
    assert rows == [
        ["13:0", "13:0", "1", "0", "0", "0"],
        ["13:1", "13:1", "1", "1", "1", "0"],
        ["13:2", "13:2", "1", "0", "0", "0"],
        ["13:3", "13:6", "4", "4", "0", "1"],
        ["13:7", "13:8", "2", "0", "0", "0"],
    ]


def test_picture_says_the_same_in_words() -> None:
    (drawing,) = [svg for svg in section_of("billing").all("svg") if svg.attrs.get("role") == "img"]
    assert drawing.all("desc")[0].full_text() == (
        "9 entries from 13:0 to 13:8: 5 not acknowledged, 1 hole; mark-delete 13:0; next read 13:5; blocked at 13:3. "
        "The table below has the numbers."
    )


def test_unknown_state_is_told_and_not_drawn() -> None:
    section = section_of("audit")
    assert section.all("svg") == []
    assert "Nobody knows what is acknowledged: no saved state says where it is." in text_of(section)


def test_subscriptions_that_are_not_shown_are_counted() -> None:
    article = next(
        a for a in PageReader(front(lab())).root.all("article") if "brk2-bad-zstd" in a.all("h3")[0].full_text()
    )
    text = text_of(article)
    for words in ("14 subscriptions,", "1 blocked", "the 3 worst are shown, the table subscriptions holds them all."):
        assert words in text, words


@pytest.mark.parametrize(
    ("action", "commands"),
    [
        ("skip", ["repair plan out --topic 't[[]1]' --subscription 'a[*]b'"]),
        ("reset_to_first_chunk", ["repair plan out --topic 't[[]1]' --subscription 'a[*]b'"]),
        ("export_then_acknowledge",
            ["export out --topic 't[[]1]'", "repair plan out --topic 't[[]1]' --subscription 'a[*]b'"]),
        ("wait", ["explain source 13:3"]),
        ("of a newer version", ["explain source 13:3"]),
    ],
)  # fmt: skip
def test_next_commands_name_exactly_this_subscription(action: str, commands: list[str]) -> None:
    found = stall("u", (13, 3), action=action)
    facts = SubscriptionFacts(subscription("a*b"), stalls=(found,), advice=Advice((NeedCount(found["need"], 1),)))
    (view,) = subscription_views(TopicAcks(None, (facts,), 1, 0), "t[1]", Run("source", "out"))
    (todo,) = view.todo
    assert [one.text.removeprefix("pulsar-backlog ") for one in todo.commands] == commands


def test_sets_told_in_the_same_words_are_told_once_and_blocking_ones_first() -> None:
    stalls = (
        stall("w", (1, 0), blocks_dispatch=False, action="skip"),
        stall("a", (1, 4)),
        stall("b", (1, 8)),
        stall("c", (1, 12), advice="Other."),
    )
    advice = advice_on([NeedCount("acknowledge", 1), NeedCount("export", 3, True)])
    (view,) = subscription_views(
        TopicAcks(None, (SubscriptionFacts(subscription("s"), stalls=stalls, advice=advice),), 1, 0),
        "t",
        Run("s", "o"),
    )
    assert [[[s["chunk_uuid"] for s in alike] for alike in todo.alike] for todo in view.todo] == [
        [["a", "b"], ["c"]],
        [["w"]],
    ]


def test_totals_of_the_sample_agree() -> None:
    acks = blocked_acks()
    assert acks.axis is not None
    assert sum(cell.unacked for cell in acks.subscriptions[0].cells) == acks.subscriptions[0].row["backlog_entries"]


def test_why_it_does_not_drain_is_told_with_its_evidence() -> None:
    reason = {
        "kind": "pinned_to_dead", "code": "C46", "sureness": "likely", "evidence": "3 entries are with \x1bnobody",
        "remedy": "unload", "advice": "Unload the topic.",
    }  # fmt: skip
    told = [text for name, text in details(subscription("s", backlog_entries=3, holdups=[reason])) if name == "Held up"]
    assert told == [r"pinned to dead (likely): 3 entries are with \x1bnobody. Unload the topic."]
    assert "Held up" not in dict(details(subscription("s", backlog_entries=3)))  # no statistics were saved
