"""What a terminal, result.json and a reading program get."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from pulsar_backlog.report.model import MAX_FINDINGS, ReportModel
from pulsar_backlog.report.result import json_lines, result_json
from pulsar_backlog.report.terminal.summary import print_summary
from pulsar_backlog.report.verdict import judge
from tests.report.sample_extremes import hostile, huge
from tests.report.sample_models import clean, empty, lab
from tests.report.sample_parts import finding

MODELS = {"lab": lab, "clean": clean, "empty": empty, "large": lambda: huge(60, 4), "hostile": hostile}
LABEL = "Export, verify, then acknowledge (1 chunk set); wait (8 chunk sets); java reconnects for ever at 13:3"
DOCS = Path(__file__).parents[3] / "docs/result.md"


def printed(model: ReportModel, width: int = 100, terminal: bool = False) -> str:
    out = io.StringIO()
    colours = "standard" if terminal else None
    print_summary(model, Console(file=out, width=width, force_terminal=terminal, color_system=colours, highlight=False))
    return out.getvalue()


def test_summary_of_the_lab() -> None:
    lines = printed(lab(), 500).splitlines()
    assert lines[0] == judge(lab()).headline
    assert lines[1].startswith("How sure, of broken messages: certain for 7")
    text = "\n".join(lines)
    assert lines[3] == "Blocked subscriptions: 2 of 40 (certain)"
    assert lines[4].strip() == "billing is stalled at 13:3: nothing behind it is delivered, 5 entries (8.8 KiB) wait"
    assert lines[5].strip() == f"[persistent://lab/s3/brk2-bad-zstd] {LABEL}"
    for words in (
        "5 messages are lost (certain for 4, likely for 1)",
        "error C14 decode fault, 1 finding",
        "The joined payload of message bz-0 is not ZSTD. [persistent://lab/s3/brk2-bad-zstd]",
        f"Next (subscription billing): {LABEL}",
        "  pulsar-backlog export demo-out --cluster lab --topic persistent://lab/s3/brk2-bad-zstd",
        "    Changes nothing on the cluster: it writes a plan and names the command that applies it.",
        "Report: demo-out/report.html   Tables: demo-out/tables",
        "Read: 12 ledger copies of 10 topics, 804 entries, 19.8 MiB, in 41.2 s",
        "Exit code 4: incomplete: something could not be read, or was left unread as asked",
    ):
        assert words in text, words
    assert len(re.findall(r"^  (?:error|warning) [CES]\d\d ", text, re.M)) == 8
    assert "And 3 more codes, see the report." in text


def test_summary_of_a_clean_audit_is_short() -> None:
    assert printed(clean()).splitlines() == [
        "Nothing wrong was found in 1 topic, 425 entries.",
        "How sure: certain, for what was read.",
        "",
        "Read: 2 ledger copies of 1 topic, 425 entries, 16.2 MiB, in 9 s",
        "Report: out/report.html   Tables: out/tables",
        "Exit code 0: clean",
    ]


def test_rerun_says_that_nothing_is_new() -> None:
    assert "Nothing new to do: this is what the last audit found." in printed(replace(lab(), exit_code=99))


@pytest.mark.parametrize("width", [30, 80, 200])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_lines_fit_and_hold_no_control_characters(make: Callable[[], ReportModel], width: int) -> None:
    text = printed(make(), width)
    text.encode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert not re.search(r"[\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text)
    too_long = [line for line in text.splitlines() if len(line) > width]
    assert all(line.startswith("  pulsar-") for line in too_long)  # commands are never broken: they are for copying


def test_terminal_gets_colours_of_ours_only() -> None:
    strange = finding("S07", "x", "m") | {"code": "Z99", "name": "[red]name[/red]"}
    model = replace(
        hostile(), source="[bold red]markup[/bold red]", findings=(strange, *hostile().findings), groups=(), clients=()
    )
    text = printed(model, 1000, terminal=True)
    assert set(re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\x1b.", text)) <= {
        "\x1b[1;31m", "\x1b[1;33m", "\x1b[1m", "\x1b[2m", "\x1b[0m",
    }  # fmt: skip
    assert "pulsar-backlog explain '[bold red]markup[/bold red]'" in text
    assert "[red]name[/red] (Z99)" in text


def test_result_counts_everything_and_lists_a_part() -> None:
    result = result_json(huge())
    assert result["findings"]["total"] == 500 * 12 * 20  # type: ignore[index]
    assert result["findings"]["listed"] == len(result["findings"]["rows"]) == MAX_FINDINGS  # type: ignore[index]
    assert result["topics"]["total"] == 10_000  # type: ignore[index]
    assert result["topics"]["listed"] == 500  # type: ignore[index]


def test_result_is_bounded_whatever_the_model_lists() -> None:
    rows = result_json(replace(lab(), findings=lab().findings * 300))["findings"]["rows"]  # type: ignore[index]
    assert len(rows) == MAX_FINDINGS


def test_result_of_the_lab() -> None:
    result = json.loads(json.dumps(result_json(lab())))
    assert result["schema_version"] == 3
    assert result["exit_code"] == 4
    assert result["verdict"]["grade"] == "broken"
    assert result["verdict"]["complete"] is False
    assert result["counts"]["by_outcome"] == {
        "blocking": 1, "fine": 59, "in_flight": 1, "lost": 5, "maybe_lost": 1, "rescue": 2,
    }  # fmt: skip
    assert result["counts"]["by_state"] == {
        "gap": 1, "headless": 2, "orphan_prefix": 3, "out_of_order": 1, "in_flight": 1, "whole": 61,
    }  # fmt: skip
    assert result["findings"]["by_code"][0]["code"] == "C14"
    assert result["findings"]["rows"][0]["evidence"] == ["13:3", "13:4", "13:5"]
    assert result["tables"] == {"ledgers": 12, "entries": 389, "rejects": 2, "chunked_messages": 67}
    assert [step["subscription"] for step in result["next"]] == ["billing", "billing", None, None, None, None]
    assert result["next"][3] == {
        "command": "pulsar-backlog explain tests/data/backlog/objects --admin tests/data/backlog/admin 292:8",
        "codes": ["E02"],
        "changes": "Changes nothing: it only reads.", "topic": None, "subscription": None, "advice": None, "how": None,
    }  # fmt: skip


def test_result_keeps_hostile_text_exactly() -> None:
    result = json.loads(json.dumps(result_json(hostile())))
    assert result["cluster"] == hostile().cluster
    assert {row["topic"] for row in result["findings"]["rows"]} == {row["topic"] for row in hostile().findings}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_json_lines_begin_with_the_verdict_and_are_plain_ascii(make: Callable[[], ReportModel]) -> None:
    lines = list(json_lines(make()))
    assert all(re.fullmatch(r"[ -~]+", line) for line in lines)
    values = [json.loads(line) for line in lines]
    assert [v["type"] for v in values] == ["verdict"] + ["finding"] * (len(lines) - 1)
    assert values[0]["verdict"]["headline"] == judge(make()).headline
    assert len(lines) == 1 + min(len(make().findings), MAX_FINDINGS)


def test_every_field_is_documented() -> None:
    documented = set(re.findall(r"`([a-z_]+)`", DOCS.read_text()))
    result = result_json(lab())
    assert set(result) <= documented
    for name in ("verdict", "counts", "findings", "topics"):
        assert set(result[name]) <= documented, name  # type: ignore[call-overload]
    assert set(result["next"][0]) <= documented  # type: ignore[index]
    assert set(result["verdict"]["facts"][0]) <= documented  # type: ignore[index]
    assert set(result["findings"]["by_code"][0]) <= documented  # type: ignore[index]
    assert set(result["topics"]["rows"][0]) <= documented  # type: ignore[index]
