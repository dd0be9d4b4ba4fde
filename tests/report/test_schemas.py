"""The JSON Schemas say what results are: real ones and samples fit, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.result import json_lines, result_json
from pulsar_backlog.report.terminal.again import verdict_again
from tests.auditing import Audited
from tests.report.sample_extremes import hostile, huge
from tests.report.sample_models import clean, empty, lab

NEEDS_SPARK = True

SCHEMAS = Path(__file__).parents[2] / "conf" / "schemas"
MODELS = {"lab": lab, "clean": clean, "empty": empty, "large": lambda: huge(20, 4), "hostile": hostile}


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / name).read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


RESULT, LINES = validator("result.schema.json"), validator("lines.schema.json")


def result_of(model: ReportModel) -> dict[str, Any]:
    return dict(json.loads(json.dumps(result_json(model))))


def test_the_result_of_a_real_audit_fits(bundled: Audited) -> None:
    assert [error.message for error in RESULT.iter_errors(bundled.result)] == []
    lines = bundled.stdout.splitlines()
    assert len(lines) == 1 + bundled.result["findings"]["listed"]
    assert [error.message for line in lines for error in LINES.iter_errors(json.loads(line))] == []


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_every_result_fits(make: Callable[[], ReportModel]) -> None:
    result = result_of(make())
    assert [error.message for error in RESULT.iter_errors(result)] == []
    assert [error.message for line in json_lines(make()) for error in LINES.iter_errors(json.loads(line))] == []
    assert [error.message for error in LINES.iter_errors(verdict_again(result, "error"))] == []


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every object of a result lies; of a list the first element will do."""
    if isinstance(value, dict):
        own = [path] if value else []
        return own + [found for name, inner in value.items() for found in leaves(inner, (*path, name))]
    return leaves(value[0], (*path, 0)) if isinstance(value, list) and value else []


FREE = {"options", "versions", "tables", "by_state", "by_flag", "by_outcome", "blocked_by_sureness"}
"""Objects whose names are not ours."""


def test_no_object_may_hold_more_or_less_or_another_type() -> None:
    whole = result_of(lab())
    places = [path for path in leaves(whole) if not (path and path[-1] in FREE)]
    assert len(places) > 12
    for path in places:
        for spoil in (
            lambda found: found.update(surprise=1),
            lambda found: found.pop(next(iter(found))),
            lambda found: found.update({next(iter(found)): {"no": "such"}}),
        ):
            result = deepcopy(whole)
            found = result
            for step in path:
                found = found[step]
            spoil(found)
            assert not RESULT.is_valid(result), path


def test_a_line_is_a_verdict_or_a_finding() -> None:
    verdict, finding, *_ = [json.loads(line) for line in json_lines(lab())]
    assert not LINES.is_valid(verdict | {"type": "finding"})
    assert not LINES.is_valid(finding | {"type": "verdict"})
    assert not LINES.is_valid(finding | {"severity": None})
