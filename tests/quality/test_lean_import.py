"""Great Expectations is imported without what no rule asks of it, and says the same. Each in a fresh process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.processes import fresh_python

HERE = Path(__file__).parent
PLAIN = "import os; os.environ['GX_ANALYTICS_ENABLED'] = 'False'; import great_expectations.expectations\n"
CHECK = f"""
import json, sys, tempfile, warnings
from pathlib import Path
sys.path.insert(0, {str(HERE)!r})
from healthy_audit import HEALTHY, frame
from pulsar_backlog.quality.check import check
from pulsar_backlog.quality.rules import load_rules
from pulsar_backlog.quality.summaries import COLUMNS

def odd(value):  # as many facts as can be are wrong, so that rules fail
    return None if isinstance(value, str) else not value if isinstance(value, bool) else -value - 1

wrong = {{name: {{key: odd(value) for key, value in HEALTHY[name].items() if key != "topic"}} for name in COLUMNS}}
summaries = {{name: frame(name, {{}}, wrong[name]) for name in COLUMNS}}
with tempfile.TemporaryDirectory() as folder:
    rows = check(load_rules(Path({str(HERE.parents[1])!r}) / "conf" / "quality"), summaries, Path(folder) / "docs")
looked_for = ("scipy.stats._continuous_distns", "altair.vegalite", "boto3", "azure.identity", "pyspark.ml")
print(json.dumps([rows, [name for name in looked_for if name in sys.modules]], default=str))
"""


@pytest.fixture(scope="module")
def plain() -> tuple[object, list[str]]:
    return _checked(PLAIN + CHECK)


def _output(program: str) -> str:
    """What a program says that ends well."""
    done = fresh_python("-W", "ignore", "-c", program)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _checked(program: str) -> tuple[object, list[str]]:
    rows, executed = json.loads(_output(program).splitlines()[-1])
    return rows, executed


def test_a_whole_check_says_the_same_and_loads_none_of_it(plain: tuple[object, list[str]]) -> None:
    lean, executed = _checked(CHECK)
    assert not executed
    rows, executed_otherwise = plain
    assert lean == rows
    assert {row["passed"] for row in rows} == {True, False}  # type: ignore[attr-defined]
    assert len(executed_otherwise) == 5  # else this test looks for the wrong names


def test_what_was_put_off_is_there_for_who_asks() -> None:
    _output(
        "import sys; from pulsar_backlog.quality.engine import gx; gx('great_expectations.expectations');"
        "assert 'scipy.stats._continuous_distns' not in sys.modules;"
        "from scipy import stats; assert stats.norm.cdf(0) == 0.5;"
        "import altair; assert altair.Chart.__name__ == 'Chart';"
        "import boto3, azure.identity, pyspark.ml.feature;"
        "assert not any('lean_import' in type(one).__module__ for one in sys.meta_path)"
    )
