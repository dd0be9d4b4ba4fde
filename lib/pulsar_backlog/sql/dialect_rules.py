"""Rules on sqlglot's syntax tree: where its own words for a node of Spark's mean something else, or nothing, in DuckDB.

Each has a case in tests/sql/dialect_cases.sql, which both engines answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.generators.duckdb import DuckDBGenerator

from pulsar_backlog.tables import TABLES

Rule = Callable[[Any, Any], str]
"""SQL of a node; the first argument is the generator, which gives that of its parts."""

_WHOLE = frozenset({exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_UNCUT = (
    exp.Null, exp.Boolean, exp.Count, exp.CountIf, exp.Floor, exp.Ceil, exp.IntDiv, exp.Length, exp.ArraySize,
    exp.UnixMillis, exp.UnixSeconds, exp.RegexpExtract, exp.Substring, exp.SplitPart, exp.JSONExtractScalar, exp.Trim,
    exp.Replace, exp.Predicate, exp.Connector, exp.Not, exp.RowNumber,
)  # fmt: skip
"""Whole numbers, truths and texts: none is cut when it becomes a whole number."""
_UNCUT_WITH_PARTS = (
    exp.Sum, exp.Max, exp.Min, exp.Coalesce, exp.Greatest, exp.Least, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg,
    exp.Abs, exp.Paren, exp.Case, exp.If, exp.Window,
)  # fmt: skip
"""As whole as their parts are."""
_SETS = (exp.ArrayAgg, exp.ArrayUniqueAgg)


class TranslationError(ValueError):
    """What Spark reads and cannot be said to DuckDB with the same meaning, as a sentence."""


@cache
def _types_of_columns() -> Mapping[str, set[str]]:
    """Types that columns of tables have, by name."""
    types: dict[str, set[str]] = {}
    for table in TABLES.values():
        for column in table.columns:
            types.setdefault(column.name, set()).add(column.type)
    return types


def _cast(self: Any, node: exp.Cast) -> str:
    """Spark cuts fractions off, DuckDB rounds; Spark's text of a time has no zone."""
    value = self.sql(node, "this")
    value = f"TRUNC({value})" if node.to.this in _WHOLE and not _is_uncut(node.this) else value
    word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
    result = f"{word}({value} AS {self.sql(node, 'to')})"
    if node.to.is_type(*exp.DataType.TEXT_TYPES) and _is_timestamp(node.this):
        return f"REGEXP_REPLACE({result}, '[+]00$', '')"
    return result


def _is_uncut(value: exp.Expr) -> bool:
    if isinstance(value, exp.Column):
        types = _types_of_columns().get(value.name.lower())
        return bool(types) and "double" not in (types or ())
    if isinstance(value, exp.Literal):
        return bool(value.is_string or value.is_int)
    if isinstance(value, exp.Cast):
        return bool(value.to.this in _WHOLE or value.to.is_type(*exp.DataType.TEXT_TYPES))
    if isinstance(value, _UNCUT_WITH_PARTS):
        parts = [part for part in value.iter_expressions() if not isinstance(part, exp.WindowSpec | exp.Order)]
        return all(map(_is_uncut, parts))
    return isinstance(value, _UNCUT)


def _is_timestamp(value: exp.Expr) -> bool:
    if isinstance(value, exp.Column):
        return _types_of_columns().get(value.name.lower()) == {"timestamp"}
    return isinstance(value, exp.Max | exp.Min) and _is_timestamp(value.this)


def _list_of(self: Any, node: exp.Expr, condition: str = "", window: str = "") -> str:
    """Without nulls, and empty where there is nothing."""
    value, where = _with_condition(self, node.this)
    distinct = "DISTINCT " if isinstance(node, exp.ArrayUniqueAgg) else ""
    where += f" AND ({condition})" if condition else ""
    return f"COALESCE(LIST({distinct}{value}) FILTER (WHERE {where}){window}, [])"


def _with_condition(self: Any, value: exp.Expr) -> tuple[str, str]:
    """A value, and when it is not null: a struct under the one condition of a CASE never is."""
    if isinstance(value, exp.Case) and not value.this and not value.args.get("default") and len(value.args["ifs"]) == 1:
        (branch,) = value.args["ifs"]
        if isinstance(branch.args["true"], exp.Struct):
            return self.sql(branch, "true"), self.sql(branch, "this")
    return self.sql(value), f"{self.sql(value)} IS NOT NULL"


def _array_sort(self: Any, node: exp.ArraySort) -> str:
    """`array_sort` has nulls last, `sort_array` has them where the order has what is least."""
    if node.expression:
        raise TranslationError("array_sort by a lambda")
    order = "DESC" if node.args.get("asc") and not node.args["asc"].this else "ASC"
    nulls = "FIRST" if node.args.get("nulls_first") and node.args["nulls_first"].this else "LAST"
    return f"LIST_SORT({self.sql(node, 'this')}, '{order}', 'NULLS {nulls}')"


def _transform(self: Any, node: exp.Transform) -> str:
    """The second parameter of a lambda counts from 0; DuckDB's from 1."""
    work = node.expression
    if isinstance(work, exp.Lambda) and len(work.expressions) > 1:
        work = work.copy()
        index = work.expressions[1].name
        for name in [one for one in work.this.find_all(exp.Identifier) if one.name == index]:
            name.replace(parse_one(f"({index} - 1)"))
    return f"LIST_TRANSFORM({self.sql(node, 'this')}, {self.sql(work)})"


def _sequence(self: Any, node: exp.GenerateSeries) -> str:
    """Downwards where it ends below its start."""
    start, end, step = self.sql(node, "start"), self.sql(node, "end"), self.sql(node, "step")
    if not step and not (start.isdigit() and end.isdigit() and int(start) <= int(end)):
        step = f"CASE WHEN {end} < {start} THEN -1 ELSE 1 END"
    return f"GENERATE_SERIES({', '.join(part for part in (start, end, step) if part)})"


def _array_position(self: Any, node: exp.ArrayPosition) -> str:
    """0 where it is not there."""
    place = f"COALESCE(LIST_POSITION({self.sql(node, 'this')}, {self.sql(node, 'expression')}), 0)"
    return f"CASE WHEN {self.sql(node, 'this')} IS NOT NULL THEN {place} END"


def _substring(self: Any, node: exp.Substring) -> str:
    """Position 0 is the first one too."""
    start = "1" if self.sql(node, "start") == "0" else self.sql(node, "start")
    length = self.sql(node, "length")
    return f"SUBSTRING({', '.join(part for part in (self.sql(node, 'this'), start, length) if part)})"


def _date_plus(unit: str) -> Rule:
    def rule(self: Any, node: exp.Expr) -> str:
        added = f"INTERVAL (1) {unit} * ({self.sql(node, 'expression')})"
        return f"CAST(CAST({self.sql(node, 'this')} AS DATE) + {added} AS DATE)"

    return rule


def _trunc(self: Any, node: Any) -> str:
    """`trunc`, of dates."""
    unit = {"MM": "MONTH", "MON": "MONTH", "YY": "YEAR", "YYYY": "YEAR"}.get(node.unit.name, node.unit.name)
    return f"CAST(DATE_TRUNC('{unit}', CAST({self.sql(node, 'this')} AS DATE)) AS DATE)"


def _date_trunc(self: Any, node: Any) -> str:
    return f"DATE_TRUNC('{node.unit.name}', CAST({self.sql(node, 'this')} AS TIMESTAMPTZ))"


def _timestampdiff(self: Any, node: Any) -> str:
    """Whole units that passed; DuckDB's DATE_DIFF counts how often the unit's number changes."""
    return f"DATE_SUB('{node.unit.name}', {self.sql(node, 'expression')}, {self.sql(node, 'this')})"


def _datediff(self: Any, node: Any) -> str:
    if node.args.get("unit") is not None and node.unit.name.upper() != "DAY":
        raise TranslationError(f"datediff in units of {node.unit.name.lower()}; write timestampdiff")
    return f"DATE_DIFF('DAY', CAST({self.sql(node, 'expression')} AS DATE), CAST({self.sql(node, 'this')} AS DATE))"


def _date_format(self: Any, node: exp.TimeToStr) -> str:
    form = self.format_time(node).replace("%f_three", "%g")
    return f"STRFTIME(CAST({self.sql(node, 'this')} AS TIMESTAMP), {form})"


def _extract(self: Any, node: exp.Extract) -> str:
    part = node.this.name.upper()
    if part not in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE"):
        raise TranslationError(f"extract({part.lower()} FROM ...)")
    return f"EXTRACT({part} FROM {self.sql(node, 'expression')})"


def _exists(self: Any, node: exp.Exists) -> str:
    """Of a subquery, or of an array."""
    if not node.expression:
        return f"EXISTS({self.sql(node, 'this')})"
    return _quantified(self, node.this, node.expression, "TRUE", "FALSE")


def _quantified(self: Any, array: exp.Expr, test: exp.Expr, decisive: str, otherwise: str) -> str:
    """Null where only nulls leave it open."""
    results = f"LIST_TRANSFORM({self.sql(array)}, {self.sql(test)})"
    return (
        f"CASE WHEN {self.sql(array)} IS NULL THEN NULL WHEN LIST_CONTAINS({results}, {decisive}) THEN {decisive} "
        f"WHEN LEN(LIST_FILTER({results}, LAMBDA _u : _u IS NULL)) > 0 THEN NULL ELSE {otherwise} END"
    )


def _forall(self: Any, node: exp.Anonymous) -> str:
    return _quantified(self, node.expressions[0], node.expressions[1], "FALSE", "TRUE")


def _reduce(self: Any, node: exp.Reduce) -> str:
    if node.args.get("finish"):
        raise TranslationError("aggregate with a last step; put it around the call")
    return f"LIST_REDUCE({', '.join(self.sql(node, part) for part in ('this', 'merge', 'initial'))})"


def _group(self: Any, node: exp.Group) -> str:
    """GROUP BY ... WITH ROLLUP, or CUBE, names its columns before the word."""
    node = node.copy()
    for part in (*(node.args.get("rollup") or []), *(node.args.get("cube") or [])):
        if not part.expressions:
            part.set("expressions", node.expressions)
            node.set("expressions", [])
    return str(DuckDBGenerator.group_sql(self, node))


def _filter(self: Any, node: exp.Filter) -> str:
    if isinstance(node.this, _SETS):
        return _list_of(self, node.this, condition=self.sql(node.expression, "this"))
    return str(DuckDBGenerator.filter_sql(self, node))


def _shape(text: str) -> Rule:
    """SQL with `{0}`, `{1}` and so on for the arguments of a function that sqlglot does not know."""
    return lambda self, node: text.format(*(self.sql(part) for part in node.expressions))


def _fields(text: str) -> Rule:
    """SQL with `{this}`, `{zone}` and so on for the parts of a node."""
    return lambda self, node: text.format(**{name: self.sql(node, name) for name in re.findall(r"{(\w+)}", text)})


FUNCTIONS: dict[str, Rule] = {
    "array_repeat": _shape("REPEAT([{0}], {1})"),
    "arrays_overlap": _shape("LIST_HAS_ANY({0}, {1})"),
    "cardinality": _shape("LEN({0})"),
    "forall": _forall,
    "get": _shape("LIST_EXTRACT({0}, CASE WHEN {1} >= 0 THEN {1} + 1 END)"),
    "isnotnull": _shape("({0} IS NOT NULL)"),
    "isnull": _shape("({0} IS NULL)"),
    "pmod": _shape("((({0}) % ({1}) + ({1})) % ({1}))"),
    "timestamp_micros": _shape("CAST(MAKE_TIMESTAMP(CAST({0} AS BIGINT)) AS TIMESTAMPTZ)"),
    "timestamp_millis": _shape("CAST(EPOCH_MS(CAST({0} AS BIGINT)) AS TIMESTAMPTZ)"),
    "timestamp_seconds": _shape("TO_TIMESTAMP({0})"),
    "weekday": _shape("(ISODOW({0}) - 1)"),
}
"""Functions that sqlglot does not know, in lower case."""

NODES: dict[type[exp.Expr], Rule] = {
    exp.AddMonths: _date_plus("MONTH"),
    exp.ApproxQuantile: _fields("QUANTILE_DISC({this}, {quantile})"),
    exp.ArgMax: _fields("ARG_MAX_NULL({this}, {expression})"),
    exp.ArgMin: _fields("ARG_MIN_NULL({this}, {expression})"),
    exp.ArrayAgg: _list_of,
    exp.ArrayPosition: _array_position,
    exp.ArrayRemove: _fields("LIST_FILTER({this}, LAMBDA _u : _u IS DISTINCT FROM {expression})"),
    exp.ArraySort: _array_sort,
    exp.ArrayUniqueAgg: _list_of,
    exp.AtTimeZone: _fields("((CAST({this} AS TIMESTAMPTZ) AT TIME ZONE {zone}) AT TIME ZONE 'UTC')"),
    exp.Cast: _cast,
    exp.DateDiff: _datediff,
    exp.DateTrunc: _trunc,
    exp.DayOfWeek: _fields("(DAYOFWEEK({this}) + 1)"),
    exp.Exists: _exists,
    exp.Extract: _extract,
    exp.Filter: _filter,
    exp.FromTimeZone: _fields("((CAST({this} AS TIMESTAMPTZ) AT TIME ZONE 'UTC') AT TIME ZONE {zone})"),
    exp.GenerateSeries: _sequence,
    exp.Group: _group,
    exp.Kurtosis: _fields("KURTOSIS_POP({this})"),
    exp.MapContainsKey: _fields("LIST_CONTAINS(MAP_KEYS({this}), {key})"),
    exp.Quantile: _fields("QUANTILE_CONT({this}, {quantile})"),
    exp.Reduce: _reduce,
    exp.Substring: _substring,
    exp.TimeToStr: _date_format,
    exp.TimestampDiff: _timestampdiff,
    exp.TimestampTrunc: _date_trunc,
    exp.Transform: _transform,
    exp.TryCast: _cast,
    exp.TsOrDsAdd: _date_plus("DAY"),
    exp.UnixSeconds: _fields("CAST(FLOOR(EPOCH({this})) AS BIGINT)"),
}


class DuckGenerator(DuckDBGenerator):
    """DuckDB's, by these rules."""

    TRANSFORMS = {**DuckDBGenerator.TRANSFORMS, **NODES}  # noqa: RUF012 - sqlglot's way

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """A function that sqlglot does not know."""
        rule = FUNCTIONS.get(expression.name.lower())
        return rule(self, expression) if rule else str(super().anonymous_sql(expression))

    def window_sql(self, expression: exp.Window) -> str:
        """A function over a window; what follows a list's closing bracket would belong to `COALESCE`."""
        text = str(super().window_sql(expression))
        if not isinstance(expression.this, _SETS):
            return text
        return _list_of(self, expression.this, window=text[text.rindex(" OVER ") :])
