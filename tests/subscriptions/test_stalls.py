"""One row for each rule and its reason; and rule 4, which nothing may break."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.chunks.clients.reopened import Stop
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.subscriptions.stall_kinds import KINDS
from pulsar_backlog.subscriptions.stall_values import ChunkSet, Copy, Loss, Reopened, Stall, SubscriptionView
from pulsar_backlog.subscriptions.stall_words import advice_of
from pulsar_backlog.subscriptions.stalls import judge
from pulsar_backlog.tables import TABLES
from tests.subscriptions.stall_cases import chunk_set, stall, view

LATER_MS = 1_764_158_400_000
SHARED, KEY_SHARED = view("Shared", last=50), view("Key_Shared", last=50)


def spread(chunks: ChunkSet) -> ChunkSet:
    """The same with another message's entry after each chunk."""
    copies = (replace(c, position=(5, 10 + 2 * at)) for at, c in enumerate(chunks.copies))
    return replace(chunks, copies=tuple(copies))


def found(chunks: ChunkSet, acked: str, subscription: SubscriptionView | None = None, ends_log: bool = False) -> Stall:
    verdict = stall(chunks, acked, subscription, ends_log)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("chunks", "acked", "subscription", "kind", "action"),
    [
        pytest.param(chunk_set("0u 1u 2u"), "#..", None, "head_acked", "export_then_acknowledge",
                     id="head acked, whole"),
        pytest.param(chunk_set("0u 1u 2u"), "..#", None, "last_only", "export_then_acknowledge", id="last only"),
        pytest.param(chunk_set("0u 1d 1u 2u"), "#.##", None, "copies_only", "export_then_acknowledge",
                     id="a copy is left"),
        pytest.param(chunk_set("0u 1u 2u"), "#.#", None, "head_acked", "export_then_acknowledge",
                     id="hole in the middle"),
        pytest.param(chunk_set("0u 1u 2u"), ".#.", None, "split", "export_then_acknowledge",
                     id="only the middle acked"),
        pytest.param(chunk_set("0u 1u 2u"), "##.", view(mark=11), "head_acked", "reset_to_first_chunk",
                     id="mark-delete inside, nothing later acknowledged: going back costs nothing"),
        pytest.param(spread(chunk_set("0u 1u 2u")), "##.", view(mark=12), "head_acked", "export_then_acknowledge",
                     id="mark-delete inside, but another message between its chunks would be repeated"),
        pytest.param(chunk_set("0u 1u 2u"), "##.", view(mark=11, last=40), "head_acked", "export_then_acknowledge",
                     id="mark-delete inside, but going back would repeat later entries"),
        pytest.param(chunk_set("0o 1o", "orphan_prefix"), "..", None, "orphan_hole", "acknowledge", id="orphan prefix"),
        pytest.param(chunk_set("1o 2o", "headless"), "..", None, "orphan_hole", "acknowledge",
                     id="headless, exclusive"),
        pytest.param(chunk_set("0o 2o", "gap"), ".#", None, "last_only", "acknowledge", id="gap, its last chunk acked"),
        pytest.param(chunk_set("1u 0u 2u", "out_of_order"), "...", None, "orphan_hole", "export_then_acknowledge",
                     id="out of order: no client gets it, we can rebuild it"),
        pytest.param(chunk_set("1o 2o", "headless"), "..", SHARED, "shared_stall", "acknowledge",
                     id="headless, shared, passed"),
        pytest.param(chunk_set("1o 2o", "headless"), "..", view("Shared"), "shared_stall", "skip",
                     id="headless, shared, blocks"),
        pytest.param(chunk_set("0u 1u 2u"), "#..", SHARED, "shared_stall", "export_then_acknowledge",
                     id="shared, head acked"),
        pytest.param(chunk_set("0u 1u 2u"), "...", KEY_SHARED, "key_shared_risk", "wait", id="key shared"),
        pytest.param(chunk_set("0u 1u 2u"), "...", None, "whole_hole", "wait",
                     id="passed over, a reconnect delivers it"),
        pytest.param(chunk_set("0u 1u 2u", deliver_at_ms=LATER_MS), "...", SHARED, "delayed", "wait",
                     id="passed over, and to be delivered later"),
        pytest.param(chunk_set("0u 1u 2u", deliver_at_ms=LATER_MS), "...", None, "whole_hole", "wait",
                     id="to be delivered later, but an exclusive subscription delays nothing"),
        pytest.param(chunk_set("0u 1u 2u"), "...", SHARED, "whole_hole", "wait", id="shared, and not delayed"),
        pytest.param(chunk_set("0u 1u", "orphan_prefix", deliver_at_ms=LATER_MS), "..", SHARED, "orphan_hole",
                     "acknowledge", id="incomplete, whenever it was to be delivered"),
        pytest.param(chunk_set("0u 0d 1u 2u", flags=frozenset({"repeated_prefix"}), deliver_at_ms=LATER_MS), "....",
                     SHARED, "delayed", "export_then_acknowledge", id="delayed, and some clients never get it"),
        pytest.param(chunk_set("0u 0d 1u 2u", flags=frozenset({"repeated_prefix"})), "....", None, "whole_hole",
                     "export_then_acknowledge", id="passed over, and some clients never get it"),
        pytest.param(chunk_set("0o 1o", "in_flight"), "..", None, "pending", "wait", id="in flight"),
        pytest.param(chunk_set("0o 1o", "orphan_prefix", sureness="likely"), "..", None, "orphan_hole", "wait",
                     id="lost, but not for certain"),
        pytest.param(chunk_set("0o 1o", "orphan_prefix", family_in_flight=True), "..", None, "orphan_hole", "wait",
                     id="another publication of the uuid is arriving"),
        pytest.param(chunk_set("0o 1o", "orphan_prefix", family_rebuildable=True), "..", None, "orphan_hole",
                     "export_then_acknowledge", id="another publication of the uuid can be rebuilt"),
        pytest.param(chunk_set("0u 1u 2u", flags=frozenset({"decode_fault"}), rebuildable=False), "...", view(),
                     "whole_hole", "export_then_acknowledge", id="garbage that blocks: keep the bytes first"),
        pytest.param(chunk_set("0u 1u 2u", flags=frozenset({"corrupt_copy"}), rebuildable=False, sureness="likely"),
                     "...", None, "whole_hole", "wait", id="whole by a damaged copy only: nothing can be exported"),
        pytest.param(chunk_set("0o", "orphan_prefix", flags=frozenset({"corrupt_copy"}), sureness="cannot_tell",
                               family_rebuildable=True),
                     ".", None, "orphan_hole", "wait", id="a damaged copy that names the uuid of a whole message"),
        pytest.param(chunk_set("0u 1d 1u 2u", flags=frozenset({"corrupt_copy"})), "....", None, "whole_hole",
                     "export_then_acknowledge", id="a damaged copy beside a sound one"),
        pytest.param(chunk_set("0o", "malformed", n=1), ".", None, "orphan_hole", "wait",
                     id="a message with a uuid and no count: plain to every client"),
        pytest.param(chunk_set("0o 3o", "malformed"), "..", view("Shared"), "orphan_hole", "wait",
                     id="malformed: some clients deliver what others drop"),
        pytest.param(chunk_set("0u 1u 2u 1r 2r"), "###..", None, "copies_only", "export_then_acknowledge",
                     id="tail residue"),
    ],
)  # fmt: skip
def test_kind_and_action(
    chunks: ChunkSet, acked: str, subscription: SubscriptionView | None, kind: str, action: str
) -> None:
    verdict = found(chunks, acked, subscription)
    assert (verdict.kind, verdict.action) == (kind, action)
    assert verdict.code == KINDS[kind].code
    told = {"blocks": verdict.blocks_dispatch, "sureness": verdict.sureness}
    assert verdict.advice == advice_of(chunks, kind, action, acked.count("."), **told)


@pytest.mark.parametrize(
    ("chunks", "acked", "subscription"),
    [
        pytest.param(chunk_set("0u 1u 2u"), "###", None, id="all acknowledged"),
        pytest.param(chunk_set("0u 1u 2u"), "...", view(), id="whole, nothing after it acknowledged: simply next"),
        pytest.param(chunk_set("0u 1u 2u"), "...", view("Shared", read=5), id="whole, not read yet"),
    ],
)
def test_nothing_is_said_of_what_is_well(chunks: ChunkSet, acked: str, subscription: SubscriptionView | None) -> None:
    assert stall(chunks, acked, subscription) is None


def test_all_kinds_that_hold_are_named() -> None:
    verdict = found(chunk_set("0u 1u 2u"), "##.", view("Shared", mark=11, last=40))
    assert (verdict.kind, verdict.also) == ("shared_stall", ("head_acked", "mark_delete_inside", "split"))
    last = found(chunk_set("0o 1o", "orphan_prefix"), "..", ends_log=True)
    assert (last.kind, last.also) == ("orphan_hole", ("tail_block",))
    assert "tail_block" not in found(chunk_set("0u 1u 2u"), "#..", ends_log=True).also


@pytest.mark.parametrize(
    ("chunks", "subscription", "blocks"),
    [
        pytest.param(
            chunk_set("1o 2o", "headless"), view("Shared"), True, id="shared, read, nothing after acknowledged"
        ),
        pytest.param(
            chunk_set("1o 2o", "headless"), view("Shared", last=50), False, id="something after is acknowledged"
        ),
        pytest.param(chunk_set("1o 2o", "headless"), view("Shared", mark=5, read=7), False, id="not read yet"),
        pytest.param(
            chunk_set("1o 2o", "headless"),
            view("Shared", mark=5, read=None),
            False,
            id="nothing says whether it was read",
        ),
        pytest.param(chunk_set("1o 2o", "headless"), view("Shared", read=None), True, id="it stands right before them"),
        pytest.param(chunk_set("1o 2o", "headless"), view("Exclusive"), False, id="exclusive goes on"),
        pytest.param(chunk_set("1o 2o", "headless"), view(None), True, id="the type is unknown, the cursor stands"),
        pytest.param(chunk_set("0o 1o", "orphan_prefix"), view("Shared"), False, id="its first chunk finds a consumer"),
        pytest.param(chunk_set("0u 1u 2u", flags=frozenset({"decode_fault"})), view(), True, id="loops the client"),
        pytest.param(
            chunk_set("0u 1u 2u", flags=frozenset({"sizes_lie"})), view(last=50), False, id="that client went on"
        ),
    ],
)
def test_blocking_needs_a_cause_and_a_cursor_that_stands(
    chunks: ChunkSet, subscription: SubscriptionView, blocks: bool
) -> None:
    verdict = stall(chunks, "." * len(chunks.copies), subscription)
    assert (verdict.blocks_dispatch if verdict else False) == blocks


def test_what_can_complete_is_what_still_comes_in_order() -> None:
    assert found(chunk_set("0u 1u 2u"), "...").can_complete
    assert not found(chunk_set("0u 1u 2u"), "#..").can_complete
    assert found(chunk_set("0d 0u 1u 2u"), "#...").can_complete
    assert not found(chunk_set("1u 0u 2u", "out_of_order"), "...").can_complete
    assert found(chunk_set("0o", "in_flight"), ".").can_complete


def test_the_first_chunk_and_the_rest_are_named() -> None:
    verdict = found(chunk_set("0u 1u 2u"), "#..")
    assert (verdict.first_chunk, verdict.last, verdict.acked_chunk_zero) == ((5, 10), (5, 12), True)
    assert [copy.position for copy in verdict.unacked] == [(5, 11), (5, 12)]
    headless = found(chunk_set("1o 2o", "headless"), "..")
    assert (headless.first_chunk, headless.acked_chunk_zero) == (None, False)


def test_the_least_sure_of_all_counts() -> None:
    headless = chunk_set("1o", "headless")
    assert found(headless, ".", view("Shared")).sureness == "likely"
    assert found(headless, ".", view("Shared", read=None)).sureness == "cannot_tell"
    assert found(chunk_set("0o", "orphan_prefix"), ".").sureness == "certain"
    assert found(chunk_set("0o", "orphan_prefix"), ".", view(last=50, sureness="cannot_tell")).sureness == "cannot_tell"
    unknown = found(chunk_set("0o", "orphan_prefix"), ".", view(None, last=50))
    assert (unknown.sureness, unknown.reason) == ("likely", "no saved stats name the subscription's type")


STATES = ("whole", "out_of_order", "orphan_prefix", "headless", "gap", "in_flight", "malformed")
FLAGS = (
    "repeated_prefix",
    "overlap",
    "sizes_lie",
    "decode_fault",
    "metadata_conflict",
    "mixed_with_another_publication",
)


@st.composite
def anything(draw: st.DrawFn) -> tuple[ChunkSet, list[bool], SubscriptionView]:
    count = draw(st.integers(1, 6))
    copies = tuple(
        Copy(
            (5, 10 + at),
            draw(st.none() | st.integers(0, 3)),
            draw(st.sampled_from(["used", "duplicate", "residue", "orphan"])),
            1,
        )
        for at in range(count)
    )
    state = draw(st.sampled_from(STATES))
    rebuildable = draw(st.booleans())
    chunks = ChunkSet(
        "u", 1, state, draw(st.frozensets(st.sampled_from(FLAGS), max_size=3)), rebuildable,
        draw(st.sampled_from(["certain", "likely", "cannot_tell"])), "", draw(st.integers(1, 4)), copies,
        draw(st.booleans()) or state == "in_flight", draw(st.booleans()) or rebuildable,
    )  # fmt: skip
    positions = st.integers(0, 30).map(lambda entry: (5, entry))
    subscription = SubscriptionView(
        "s", draw(st.sampled_from(["Shared", "Exclusive", "Key_Shared", "Failover", None])), draw(positions),
        draw(st.none() | positions), draw(st.none() | positions),
    )  # fmt: skip
    return chunks, draw(st.lists(st.booleans(), min_size=count, max_size=count)), subscription


@given(anything())
def test_rule_4_nothing_that_may_complete_or_be_rebuilt_is_acknowledged_away(
    case: tuple[ChunkSet, list[bool], SubscriptionView],
) -> None:
    chunks, acked, subscription = case
    verdict = judge(chunks, acked, subscription)
    if verdict is None or verdict.action not in ("acknowledge", "skip"):
        return
    assert not chunks.family_in_flight
    assert not chunks.family_rebuildable
    assert not chunks.rebuildable
    assert chunks.state in ("orphan_prefix", "headless", "gap")
    assert chunks.sureness == "certain"


@given(anything())
def test_what_may_still_arrive_is_waited_for_whatever_else_holds(
    case: tuple[ChunkSet, list[bool], SubscriptionView],
) -> None:
    chunks, acked, subscription = case
    verdict = judge(chunks, acked, subscription)
    if verdict is not None and chunks.family_in_flight:
        assert verdict.action == "wait"


@given(anything())
def test_a_stall_names_exactly_what_is_not_acknowledged(case: tuple[ChunkSet, list[bool], SubscriptionView]) -> None:
    chunks, acked, subscription = case
    verdict = judge(chunks, acked, subscription)
    if verdict is None:
        assert all(acked) or chunks.state == "whole"
        return
    assert [copy.position for copy in verdict.unacked] == [
        copy.position for copy, done in zip(chunks.copies, acked, strict=True) if not done
    ]
    assert verdict.acked_entries == sum(acked)
    assert verdict.kind not in verdict.also


def test_nobody_is_told_to_wait_for_what_blocks() -> None:
    waiting = found(chunk_set("1o 2o", "headless", sureness="likely"), "..", view("Shared", last=50))
    blocking = found(chunk_set("1o 2o", "headless", sureness="likely"), "..", view("Shared"))
    assert "Wait, and do not acknowledge any" in waiting.advice
    assert "Wait" not in blocking.advice
    assert "until then do not acknowledge any" in blocking.advice


PYTHON_LOSES = Loss("python", "lost", "the client dropped the chunks it had")
REUSED = frozenset({"uuid_reused"})


@pytest.mark.parametrize(
    ("flags", "reopened", "action"),
    [
        pytest.param((), None, "wait", id="nothing speaks against it"),
        pytest.param((), Reopened(), "wait", id="every client delivers it"),
        pytest.param((), Reopened((PYTHON_LOSES,)), "export_then_acknowledge", id="one client loses it, whatever else"),
        pytest.param(REUSED, None, "export_then_acknowledge", id="some lose it, and nobody was asked"),
        pytest.param(REUSED, Reopened(), "wait", id="some may lose it, but not here"),
        pytest.param(REUSED, Reopened((PYTHON_LOSES,)), "export_then_acknowledge", id="an unfinished one before it"),
        pytest.param({"repeated_prefix"}, Reopened(), "export_then_acknowledge", id="older releases lose it"),
    ],
)
def test_advice_is_never_rosier_than_what_a_client_makes_of_it(
    flags: Collection[str], reopened: Reopened | None, action: str
) -> None:
    verdict = found(chunk_set("0u 1u 2u", flags=frozenset(flags), reopened=reopened), "...")
    assert verdict.action == action
    loses = reopened is not None and bool(reopened.losses)
    assert ("python does not deliver it as sent" in verdict.advice) is loses
    assert ("python: the client dropped the chunks it had" in verdict.reason) is loses


def test_a_message_that_clients_lose_is_told_as_soon_as_they_got_to_it() -> None:
    """Nothing after it is acknowledged: only what clients make of it says that it is not simply next."""
    assert stall(chunk_set("0u 1u 2u", flags=REUSED, reopened=Reopened()), "...", view()) is None
    lost = chunk_set("0u 1u 2u", flags=REUSED, reopened=Reopened((PYTHON_LOSES,)))
    verdict = found(lost, "...", view())
    assert (verdict.kind, verdict.action) == ("whole_hole", "export_then_acknowledge")
    assert stall(lost, "...", view("Shared", mark=5, read=7)) is None


@pytest.mark.parametrize(
    ("reopened", "action"),
    [
        pytest.param(None, "reset_to_first_chunk", id="nobody was asked"),
        pytest.param(Reopened(after_reset=()), "reset_to_first_chunk", id="every client delivers it then"),
        pytest.param(Reopened((PYTHON_LOSES,), after_reset=()), "reset_to_first_chunk", id="only the rest comes now"),
        pytest.param(Reopened(after_reset=(PYTHON_LOSES,)), "export_then_acknowledge", id="one loses it even then"),
        pytest.param(Reopened(), "export_then_acknowledge", id="that was not asked"),
    ],
)
def test_a_reset_is_advised_only_where_every_client_delivers_then(reopened: Reopened | None, action: str) -> None:
    verdict = found(chunk_set("0u 1u 2u", reopened=reopened), "##.", view(mark=11))
    assert verdict.action == action


def test_what_is_stored_before_it_and_stops_a_client_is_named() -> None:
    verdict = found(chunk_set("0u 1u 2u", reopened=Reopened(stops=(Stop("java", "reconnect_loop", (5, 3)),))), "...")
    assert verdict.action == "wait"
    assert "java does not get past the entry at 5:3" in verdict.advice


def test_what_clients_lose_is_exported_while_another_send_arrives() -> None:
    chunks = chunk_set("0u 1u 2u", flags=REUSED, family_in_flight=True, reopened=Reopened((PYTHON_LOSES,)))
    verdict = found(chunks, "...")
    assert verdict.action == "wait"
    assert "export this one, and do not acknowledge entries of either yet" in verdict.advice


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        (chunk_set("0u 0d 1u 2u", flags=frozenset({"repeated_prefix"})), "Export it, verify the export"),
        (chunk_set("0o 1o", "orphan_prefix", family_rebuildable=True), "export that one"),
        (chunk_set("0u 1u 2u", rebuildable=False, flags=frozenset({"decode_fault"})), "keep the objects"),
        (chunk_set("1u 0u 2u", "out_of_order", rebuildable=False), "keep the objects"),
    ],
)
def test_export_is_told_of_what_an_export_gives(chunks: ChunkSet, words: str) -> None:
    verdict = found(chunks, "." * len(chunks.copies))
    assert verdict.action == "export_then_acknowledge"
    assert words in verdict.advice


@given(anything())
def test_words_and_sureness_agree(case: tuple[ChunkSet, list[bool], SubscriptionView]) -> None:
    verdict = judge(*case)
    if verdict is None:
        return
    assert "for certain" not in verdict.advice
    if verdict.blocks_dispatch:
        assert {"likely": "most likely nothing", "cannot_tell": "perhaps nothing"}[verdict.sureness] in verdict.advice
    if "Export it" in verdict.advice:
        assert verdict.rebuildable


def test_every_kind_has_a_sentence_a_finding_and_a_place_in_the_contract() -> None:
    (column,) = (one for one in TABLES["stalls"].columns if one.name == "kind")
    for kind in KINDS.values():
        assert f"`{kind.name}`" in column.comment
        assert kind.what and not kind.what.endswith(".")
        assert kind.code is None or kind.code in CATALOGUE
