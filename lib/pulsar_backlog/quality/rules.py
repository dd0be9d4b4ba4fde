"""Rules as data: YAML files, a list of rules in each."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pulsar_backlog.errors import UsageError
from pulsar_backlog.quality.engine import gx, row_wise_expectations
from pulsar_backlog.quality.summaries import COLUMNS, DERIVED, Summary

_OPERATORS: dict[str, Callable[[Any, int], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_SEVERITIES = {"error": "critical", "warning": "warning"}


class Rule(BaseModel):
    """One rule.

    Attributes:
        id: stable; rows of `quality_results` carry it.
        summary: the frame it is about.
        severity: how bad a failure is.
        sentence: what it says, in words.
        expectation: class name in Great Expectations, of one that looks at each row.
        kwargs: its arguments.
        row_condition: the rows it is about, such as `rejected == 0`; None for all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    summary: Summary
    severity: Literal["error", "warning"]
    sentence: str = Field(min_length=1)
    expectation: str
    kwargs: dict[str, Any]
    row_condition: str | None = Field(default=None, pattern=r"^\w+ (==|!=|<|<=|>|>=) -?\d+$")

    def built(self) -> Any:
        """The expectation itself.

        Raises:
            ValueError: it, one of its arguments or one of its columns does not exist.
        """
        classes = row_wise_expectations()
        if self.expectation not in classes:
            raise ValueError(f"there is no row-wise expectation {self.expectation!r}")
        unknown = self._columns() - {*COLUMNS[self.summary], *DERIVED[self.summary]}
        if unknown:
            raise ValueError(f"{self.summary} has no column {', '.join(sorted(unknown))}")
        return classes[self.expectation](
            **self.kwargs,
            row_condition=self._condition(),
            description=self.sentence,
            meta={"rule": self.id},
            severity=_SEVERITIES[self.severity],
        )

    def _columns(self) -> set[str]:
        named = [value for name, value in self.kwargs.items() if name in ("column", "column_A", "column_B")]
        return {*named, *self.kwargs.get("column_list", ()), *(self.row_condition or "").split()[:1]}

    def _condition(self) -> Any:
        if self.row_condition is None:
            return None
        column, sign, value = self.row_condition.split()
        conditions = gx("great_expectations.expectations.row_conditions")
        return _OPERATORS[sign](conditions.Column(column), int(value))


def load_rules(folder: Path) -> list[Rule]:
    """The rules of all `*.yaml` files of a folder, in the order of file names.

    Raises:
        UsageError: a file is not a list of rules, or a rule cannot work; names file and rule.
    """
    rules: dict[str, Rule] = {}
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise UsageError(f"no quality rules in {folder}")
    for path in paths:
        for rule in _load(path):
            if rule.id in rules:
                raise UsageError(f"{path}: rule {rule.id} is there twice")
            rules[rule.id] = rule
    return list(rules.values())


def _load(path: Path) -> list[Rule]:
    try:
        items = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: {error}") from error
    if not isinstance(items, list):
        raise UsageError(f"{path}: not a list of rules")
    return [_rule(path, number, item) for number, item in enumerate(items, 1)]


def _rule(path: Path, number: int, item: object) -> Rule:
    name = item.get("id", number) if isinstance(item, dict) else number
    try:
        rule = Rule.model_validate(item)
        rule.built()
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UsageError(f"{path}: rule {name}: {faults}") from error
    except (ValueError, TypeError) as error:  # Great Expectations' own validation among them
        raise UsageError(f"{path}: rule {name}: {error}") from error
    return rule
