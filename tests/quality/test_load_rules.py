"""Rule files: what is refused, and that the message names the file."""

from pathlib import Path

import pytest
import yaml

from pulsar_backlog.errors import UsageError
from pulsar_backlog.quality.rules import load_rules

GOOD = {
    "id": "no_faults",
    "summary": "ledger_summary",
    "severity": "error",
    "sentence": "There are no faults.",
    "expectation": "ExpectColumnValuesToBeBetween",
    "kwargs": {"column": "order_faults", "max_value": 0},
}


def test_rules_come_in_the_order_of_files(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(yaml.safe_dump([{**GOOD, "id": "second"}]))
    (tmp_path / "a.yaml").write_text(yaml.safe_dump([{**GOOD, "id": "first", "row_condition": "frames >= -1"}]))
    assert [rule.id for rule in load_rules(tmp_path)] == ["first", "second"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param([{**GOOD, "colour": "red"}], "colour", id="unknown key"),
        pytest.param([{**GOOD, "expectation": "ExpectMiracles"}], "ExpectMiracles", id="unknown expectation"),
        pytest.param([{**GOOD, "expectation": "ExpectColumnMaxToBeBetween"}], "row-wise",
                     id="an expectation that cannot name rows"),
        pytest.param([{**GOOD, "kwargs": {"column": "order_faults", "maximum": 0}}], "maximum", id="argument"),
        pytest.param([{**GOOD, "kwargs": {"max_value": 0}}], "column", id="missing argument"),
        pytest.param([{**GOOD, "kwargs": {"column": "order_fault", "max_value": 0}}], "no column order_fault",
                     id="unknown column"),
        pytest.param([{**GOOD, "row_condition": "frame == 0"}], "no column frame", id="column of a condition"),
        pytest.param([{**GOOD, "row_condition": "frames == 0 or 1"}], "row_condition", id="condition"),
        pytest.param([{**GOOD, "severity": "fatal"}], "severity", id="severity"),
        pytest.param([{**GOOD, "summary": "entries"}], "summary", id="summary"),
        pytest.param([{k: v for k, v in GOOD.items() if k != "sentence"}], "sentence", id="missing key"),
        pytest.param([GOOD, GOOD], "no_faults is there twice", id="id twice"),
        pytest.param({"rules": [GOOD]}, "not a list", id="not a list"),
        pytest.param(["text"], "rule 1", id="not a mapping"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(UsageError, match=message) as caught:
        load_rules(tmp_path)
    assert str(path) in str(caught.value)


def test_broken_yaml_and_no_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no quality rules"):
        load_rules(tmp_path)
    (tmp_path / "x.yaml").write_text("- [")
    with pytest.raises(UsageError, match=r"x\.yaml"):
        load_rules(tmp_path)
