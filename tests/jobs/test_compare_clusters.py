"""`compare`: two audits of logs with planted differences, found message by message and nothing else; run twice."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.commands.compare import run_compare
from pulsar_backlog.messages.provenance import ACTION_PROPERTY, LOOP_PROPERTY
from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.repair.values import read_plan
from pulsar_backlog.report.terminal.comparison import ComparisonSummary, _lines
from tests.auditing import rows_of, run_audit
from tests.cli.typed import commands_in_pages, typed
from tests.replicas.logs import Message, batch, chunks, damaged, replicated, sent, single, store

NEEDS_SPARK = True

TEN = sent(10)
THERE = replicated(TEN)
REPAIR = {LOOP_PROPERTY: "plan", ACTION_PROPERTY: "plan-0"}
LARGE = [Message(i, bytes([i]) * 900, producer="eu-large") for i in range(3)]


def singles(messages: Sequence[Message]) -> list[bytes]:
    return [single(one) for one in messages]


def without(messages: Sequence[Message], *places: int) -> list[Message]:
    return [one for at, one in enumerate(messages) if at not in places]


def eu() -> dict[str, Any]:
    large = [part for one in LARGE for part in chunks(one, 3)]
    return {
        "same": [[batch(TEN[:4]), *singles(TEN[4:])]],
        "missing": [[batch(TEN[:4]), *singles(TEN[4:])]],
        "twice": [singles(TEN)],
        "order": [singles(TEN)],
        "content": [singles(TEN)],
        "chunked": [large],
        "chunk-lost": [large],
        "corrupt": [singles(TEN)],
        "later": [singles(TEN)],
        "behind": [singles(TEN)],
        "chosen": [singles([replace(TEN[0], replicate_to=("__local__",)), *TEN[1:]])],
        "unnumbered": [[batch([replace(one, sequence_id=0, time_ms=TEN[0].at_ms, own_id=False) for one in TEN[:4]])]],
        "only-here": [singles(TEN[:2])],
        "repaired": [singles(TEN)],
    }


def us() -> dict[str, Any]:
    large = [chunks(one, 3) for one in replicated(LARGE)]
    swapped = [*THERE[:3], THERE[4], THERE[3], *THERE[5:]]
    other = [*THERE[:5], replace(THERE[5], payload=b"payload 6"), *THERE[6:]]
    unnumbered = [replace(one, sequence_id=0, time_ms=THERE[0].at_ms) for one in THERE[:4]]
    return {
        # batched anew, compressed otherwise, in ledgers that end elsewhere
        "same": [
            [single(THERE[0]), batch(THERE[1:3])],
            [batch(THERE[3:6]), *[single(one, compressed=True) for one in THERE[6:]]],
        ],
        "missing": [[single(THERE[0]), batch(without(THERE[1:7], 2))], singles(THERE[7:])],
        "twice": [[*singles(THERE[:6]), single(THERE[4]), *singles(THERE[6:])]],
        "order": [singles(swapped)],
        "content": [singles(other)],
        "chunked": [[large[0][0], large[1][0], *large[0][1:], *large[1][1:], *large[2]]],
        "chunk-lost": [[*large[0], large[1][0], large[1][2], *large[2]]],
        "corrupt": [[*singles(THERE[:4]), damaged(single(THERE[4])), *singles(THERE[5:])]],
        "later": [singles(THERE[3:])],
        "behind": [singles(THERE[:8])],
        "chosen": [singles(THERE[1:])],
        "unnumbered": [singles(without(unnumbered, 2))],
        # appended by a repair: in another place, with properties of its own, and no difference
        "repaired": [singles([*without(THERE, 3), replace(THERE[3], properties={**THERE[3].properties, **REPAIR})])],
    }


def compared(a: Path, b: Path, out: Path, **options: Any) -> tuple[int, str]:
    words = io.StringIO()
    with redirect_stdout(words), redirect_stderr(words):
        code = run_compare(str(a), str(b), {"out": str(out), **options})
    return code, words.getvalue()


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("clusters")
    outs = []
    for name, topics, first in (("eu", eu(), 10), ("us", us(), 100)):
        source = store(folder / name, topics, first)
        audited = run_audit(source, folder / f"{name}-audit", cluster=name)
        assert audited.exit_code in (0, 1), audited.stderr
        outs.append(audited.out)
    return outs[0], outs[1]


@pytest.fixture(scope="module")
def out(audits: tuple[Path, Path]) -> tuple[int, Path]:
    code, words = compared(*audits, audits[0].parent / "compared", metrics=str(audits[0].parent / "compared.prom"))
    assert code == 1, words
    (audits[0].parent / "words.txt").write_text(words)
    return code, audits[0].parent / "compared"


def topic(name: str) -> str:
    return f"persistent://shop/eu/{name}"


EXPECTED = {
    # a message of a batch in the middle
    ("missing", "missing", "b", 3, "certain"),
    # the sixth entry there is the fifth message once more
    ("twice", "duplicate", "b", 4, "certain"),
    # one of the two must be moved
    ("order", "order", "both", 3, "certain"),
    ("content", "content", "both", 5, "certain"),
    # a damaged entry may be another message than it says
    ("chunk-lost", "broken", "b", 1, "certain"),
    ("corrupt", "broken", "b", 4, "likely"),
    # before the first that both have
    *(("later", "policy", "b", i, "likely") for i in range(3)),
    # after the last that both have
    *(("behind", "in_flight", "b", i, "cannot_tell") for i in (8, 9)),
    ("chosen", "policy", "b", 0, "certain"),
    # members without ids of their own are told apart by what they hold
    ("unnumbered", "missing", "b", 0, "certain"),
    *(("only-here", "missing", "b", i, "cannot_tell") for i in range(2)),
}


def test_the_question_that_it_prints_is_answered(out: tuple[int, Path]) -> None:
    summary = ComparisonSummary(**json.loads((out[1].parent / "words.txt").read_text().splitlines()[-1]))
    (command,) = [line.strip() for line in _lines(summary) if "pulsar-backlog sql" in line]
    done = typed(command)
    assert done.code == 0, done.stderr
    assert "later" in done.stdout


def test_every_planted_difference_and_no_other(out: tuple[int, Path]) -> None:
    found = {
        (row["topic"].rpartition("/")[2], row["kind"], row["side"], row["sequence_id"], row["sureness"])
        for row in rows_of(out[1], "differences")
    }
    assert found == EXPECTED


def test_positions_are_those_of_both_logs(out: tuple[int, Path]) -> None:
    rows = {row["topic"]: row for row in rows_of(out[1], "differences")}
    names = ("a_ledger_id", "a_entry_id", "a_batch_index", "b_ledger_id", "b_entry_id", "b_batch_index")
    places = {name: tuple(rows[topic(name)][column] for column in names) for name in ("missing", "twice", "content")}
    assert places == {
        "missing": (11, 0, 3, None, None, None),
        "twice": (12, 4, -1, 104, 6, -1),
        "content": (14, 5, -1, 106, 5, -1),
    }


def test_topics_in_numbers(out: tuple[int, Path]) -> None:
    rows = {row["topic"]: row for row in rows_of(out[1], "compared_topics")}
    assert {name.rpartition("/")[2]: row["verdict"] for name, row in rows.items()} == {
        "same": "equal", "missing": "differs", "twice": "differs", "order": "differs", "content": "differs",
        "chunked": "equal", "chunk-lost": "differs", "corrupt": "differs", "later": "explained", "behind": "explained",
        "chosen": "explained", "unnumbered": "differs", "only-here": "cannot_tell",
        "repaired": "equal",
    }  # fmt: skip
    assert [rows[topic("same")][name] for name in ("messages_a", "messages_b")] == [10, 10]
    assert rows[topic("chunked")]["buckets_read"] == 0  # equal digests: no message is looked at


def test_exit_code_findings_and_result(out: tuple[int, Path]) -> None:
    code, folder = out
    result = json.loads((folder / "result.json").read_text())
    assert code == result["exit_code"] == 1
    assert (result["kind"], result["verdict"]) == ("comparison", "differs")
    codes = {row["code"] for row in rows_of(folder, "findings")}
    assert codes == {"D01", "D02", "D03", "D04", "D05", "D06", "D07", "D08", "D10"}


def test_the_report_names_both_sides_and_what_differs(audits: tuple[Path, Path], out: tuple[int, Path]) -> None:
    text = (out[1] / "report.html").read_text()
    for words in (
        str(audits[0]),
        str(audits[1]),
        f"repair missing {out[1]} --side b",
        topic("chunk-lost"),
        "D05",
        "11:0",
    ):
        assert words in text, words
    assert text.count('<article id="topic-') == 11  # of 14 topics three are equal


def test_numbers_are_written_where_they_are_named(audits: tuple[Path, Path], out: tuple[int, Path]) -> None:
    text = (audits[0].parent / "compared.prom").read_text()
    of = f'cluster="eu",kind="missing",side="b",topic="{topic("missing")}"'
    assert f"pulsar_backlog_differences{{{of}}} 1.0" in text
    assert 'pulsar_backlog_compared_topics{cluster="eu",verdict="equal"} 3.0' in text


def test_the_same_once_more_reads_nothing(audits: tuple[Path, Path], out: tuple[int, Path]) -> None:
    first, again = audits[0].parent / "compared.prom", audits[0].parent / "again.prom"
    assert compared(*audits, out[1], metrics=str(again))[0] == 99
    # ages are told by the time of the file, so it is written all the same
    texts = [[line for line in one.read_text().splitlines() if "timestamp" not in line] for one in (first, again)]
    assert texts[0] == texts[1]


def test_what_could_not_be_read_is_named(out: tuple[int, Path]) -> None:
    (gap,) = [row for row in rows_of(out[1], "findings") if row["code"] == "D10"]
    assert (gap["topic"], gap["count"], gap["evidence"]) == (topic("corrupt"), 1, ["b 109:4"])


def test_a_log_equals_itself(audits: tuple[Path, Path], tmp_path: Path) -> None:
    """Also where it is damaged: the same damage of the same object is no difference."""
    code, _ = compared(audits[1], audits[1], tmp_path / "out")
    assert code == 0
    assert rows_of(tmp_path / "out", "differences") == []
    assert {row["verdict"] for row in rows_of(tmp_path / "out", "compared_topics")} == {"equal"}


def test_plan_from_the_other_side(audits: tuple[Path, Path], out: tuple[int, Path]) -> None:
    """What is certainly missing or broken there is published; what may still arrive or be there is left alone."""
    exported = typed(f"pulsar-backlog export {audits[0]} --fail-on never")
    assert exported.code == 0, exported.stderr
    shown = typed(f"pulsar-backlog repair missing {out[1]} --side b")
    assert shown.code == 0, shown.stderr
    said, *rows = [json.loads(line) for line in shown.stdout.splitlines()]
    held = [row for row in rows if row["record"] == "held_back"]
    assert {one["why"].partition(":")[0]: one["count"] for one in held} == {
        "it is not certain that it is missing": 2,  # only one audit knows the topic
        "it is not certain that it is broken": 1,  # a damaged entry may be another message than it says
    }
    plan = read_plan(Path(said["folder"]))
    origins = {one.topic.rpartition("/")[2]: (one.cause, one.message.origin) for one in plan.actions if one.message}
    # its batch has one publish time; the log of the other side ended with the third entry of its second ledger
    assert origins == {
        "missing": ("missing", Origin("eu-1", 3, TEN[0].at_ms, "eu", (103, 2))),
        "chunk-lost": ("broken", Origin("eu-large", 1, LARGE[1].at_ms, "eu", (108, 7))),
        "unnumbered": ("missing", Origin("eu-1", 0, TEN[0].at_ms, "eu", (113, 2))),
    }
    payloads = [(Path(said["folder"]) / "payloads" / str(one.number)).read_bytes() for one in plan.actions]
    assert set(payloads) == {b"payload 3", LARGE[1].payload, b"payload 2"}


def test_nothing_to_publish_and_no_such_side(out: tuple[int, Path]) -> None:
    nothing = typed(f"pulsar-backlog repair missing {out[1]} --side a")
    assert (nothing.code, json.loads(nothing.stdout)["actions"]) == (0, 0)
    refused = typed(f"pulsar-backlog repair missing {out[1]} --side c")
    assert refused.code == 2
    assert "a is the first audit of the comparison" in refused.stderr


def test_the_commands_of_the_report_run(audits: tuple[Path, Path], out: tuple[int, Path]) -> None:
    """As they stand, but for the word in capitals where either audit may be meant."""
    commands = sorted(commands_in_pages(out[1]))  # exports come before the plans that rest on them
    assert {tuple(command.split()[1:3])[: 2 if " repair " in command else 1] for command in commands} >= {
        ("export",), ("repair", "missing"), ("sql",),
    }  # fmt: skip
    for command in commands:
        done = typed(command.replace(" AUDIT ", f" {audits[0]} "))
        assert done.code in (0, 1, 99), (
            command,
            done.stderr,
        )  # 1: what was exported has errors; 99: it is there already
        assert done.stdout or done.code == 99, command
