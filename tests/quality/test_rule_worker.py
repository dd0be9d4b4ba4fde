"""Rules checked by a process of its own: the same rows and pages, and who asks loads nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from healthy_audit import HEALTHY, frame

from pulsar_backlog.errors import UsageError
from pulsar_backlog.quality.check import check
from pulsar_backlog.quality.rule_worker import check_rules
from pulsar_backlog.quality.rules import Rule
from pulsar_backlog.quality.summaries import COLUMNS
from tests.processes import fresh_python

CONF = Path(__file__).parents[2] / "conf" / "quality"
ROWS = {name: [{"subject": "odd", **HEALTHY[name]}] for name in COLUMNS}
ROWS["ledger_summary"][0]["decoded"] = 3
ROWS["topic_summary"].clear()
PROGRAM = """
import json, sys
from pathlib import Path
from pulsar_backlog.quality.rule_worker import start_rule_worker, check_rules

conf, rows, docs = json.loads(sys.argv[1])
start_rule_worker()
made = check_rules(Path(conf), rows, Path(docs))
print(json.dumps([len(made), [name for name in ("pandas", "great_expectations", "numba") if name in sys.modules]]))
"""


def test_a_process_apart_makes_the_same_rows_and_pages(rules: list[Rule], tmp_path: Path) -> None:
    frames = {name: frame(name, *({"subject": "odd", **row} for row in rows)) for name, rows in ROWS.items()}
    here = check(rules, frames, tmp_path / "here")
    assert check_rules(CONF, ROWS, tmp_path / "apart") == here
    assert {row["passed"] for row in here} == {True, False}
    pages = [{path.relative_to(site).parts[:2] for path in site.rglob("*.html")} for site in tmp_path.iterdir()]
    assert pages[0] == pages[1]
    assert len(pages[0]) > 3


def test_who_asks_loads_neither_pandas_nor_great_expectations(rules: list[Rule], tmp_path: Path) -> None:
    done = fresh_python("-c", PROGRAM, json.dumps([str(CONF), ROWS, str(tmp_path / "docs")]))
    assert done.returncode == 0, done.stderr
    made, loaded = json.loads(done.stdout)
    assert made == len(rules)
    assert loaded == []


def test_a_rule_that_cannot_work_is_a_mistake_of_the_user_here_too(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text("- id: odd\n", "utf-8")
    with pytest.raises(UsageError, match=r"odd\.yaml: rule odd: .*summary"):
        check_rules(tmp_path, ROWS, tmp_path / "docs")


IMPORTS = """
import json, sys
from pulsar_backlog.quality import rule_worker
from pulsar_backlog.quality.lean_import import EXTRAS

rule_worker._load(None)
print(json.dumps(sorted(EXTRAS & sys.modules.keys())))
"""


def test_a_process_apart_loads_no_extras_of_great_expectations() -> None:
    done = fresh_python("-c", IMPORTS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


FRAMES = """
import json, resource
from pulsar_backlog.quality.rule_worker import _with_room_for_frames

def deep(depth):
    if depth:
        deep(depth - 1)
    else:
        for _ in range(1000):
            one()

def one():
    pass

def most_faults(call):
    faults = []
    for depth in range(150):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        call(lambda: deep(depth))
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return max(faults)

print(json.dumps([most_faults(lambda call: call()), most_faults(_with_room_for_frames)]))
"""


def test_calls_that_begin_a_piece_of_memory_for_frames_cost_no_more_than_others() -> None:
    done = fresh_python("-c", FRAMES)
    assert done.returncode == 0, done.stderr
    without, with_room = json.loads(done.stdout)
    assert without >= 1000, "this Python maps no memory for each of them: there is nothing left to do here"
    assert with_room < 200
