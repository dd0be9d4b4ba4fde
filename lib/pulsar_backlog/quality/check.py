"""Runs rules over summary frames: rows for `quality_results`, and Great Expectations' own pages."""

from __future__ import annotations

import html
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pulsar_backlog.quality.data_docs import write_data_docs
from pulsar_backlog.quality.engine import gx, quiet_context
from pulsar_backlog.quality.rules import Rule
from pulsar_backlog.quality.summaries import COLUMNS, Summary, with_derived

MAX_EXAMPLES = 20
"""Subjects that a result names at most."""


def check(rules: Sequence[Rule], summaries: Mapping[str, pd.DataFrame], data_docs: Path) -> list[dict[str, Any]]:
    """Check every rule.

    Args:
        rules: from `load_rules`.
        summaries: one frame per name in `COLUMNS`, with its columns; a frame may have no rows.
        data_docs: folder for the pages; what it held before is replaced.

    Returns:
        Rows of `quality_results` without the column `cluster`, in the rules' order. Null passes every rule and does
        not count as checked.

    Raises:
        ValueError: a summary or one of its columns is missing.
        RuntimeError: an expectation could not be evaluated.
    """
    rows: dict[str, dict[str, Any]] = {}
    passed: dict[str, list[bool]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Great Expectations' use of deprecated pandas and of itself
        context = quiet_context()
        for summary in COLUMNS:
            if summary not in summaries:
                raise ValueError(f"no {summary}")
            of_summary = {rule.id: rule for rule in rules if rule.summary == summary}
            frame = with_derived(summary, summaries[summary])
            results = _validated(context, summary, list(of_summary.values()), frame)
            for result in results:
                rule = of_summary[result.expectation_config.meta["rule"]]
                rows[rule.id] = _row(rule, result)
            passed[summary] = [result.success for result in results]
        write_data_docs(context, passed, data_docs)
    return [rows[rule.id] for rule in rules]


def _validated(context: Any, summary: Summary, rules: Sequence[Rule], frame: pd.DataFrame) -> Any:
    """Results of one summary's rules; also kept in the context, for the pages."""
    core = gx("great_expectations")
    source = context.data_sources.add_pandas(summary)
    batch = source.add_dataframe_asset(summary).add_batch_definition_whole_dataframe("all")
    suite = context.suites.add(core.ExpectationSuite(summary, expectations=[rule.built() for rule in rules]))
    definition = context.validation_definitions.add(core.ValidationDefinition(name=summary, data=batch, suite=suite))
    return definition.run(
        batch_parameters={"dataframe": _escaped(frame)},
        result_format={
            "result_format": "COMPLETE",
            "unexpected_index_column_names": ["subject"],
            "return_unexpected_index_query": False,
        },
    ).results


def _row(rule: Rule, result: Any) -> dict[str, Any]:
    outcome = result.result
    if "element_count" not in outcome:
        raise RuntimeError(f"rule {rule.id} could not be checked: {result.exception_info}")
    failed = outcome["unexpected_index_list"]
    return {
        "rule": rule.id,
        "summary": rule.summary,
        "severity": rule.severity,
        "passed": bool(result.success),
        "checked": outcome["element_count"] - outcome["missing_count"],
        "failed": outcome["unexpected_count"],
        "sentence": rule.sentence,
        "expectation": rule.expectation,
        "examples": [html.unescape(row["subject"]) for row in failed[:MAX_EXAMPLES]],
    }


def _escaped(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its texts as HTML: the tables in Data Docs show values as they are, markup and all."""
    texts = frame.select_dtypes(["object", "string"])
    return frame.assign(**texts.map(lambda value: html.escape(value) if isinstance(value, str) else value))
