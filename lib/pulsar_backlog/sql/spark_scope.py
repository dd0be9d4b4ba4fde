"""What a query on Spark may reach: these tables and views, and functions that work on their arguments alone.

The parsed query is walked before Spark resolves a single name of it: to resolve ``csv.`/etc/passwd` `` is to read the
file. The analysed query is looked at once more before it runs: each relation that it reads is one of the tables given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.spark_functions import REFUSED, allowed
from pulsar_backlog.sql.sql_mistakes import ONLY_QUERIES, unknown_function, unknown_table

_SETTINGS = {
    "spark.sql.runSQLOnFiles": "false",  # a name is never a path
    "spark.sql.variable.substitute": "false",  # ${env:...} is text
}
_TREE = "org.apache.spark.sql.catalyst.trees.TreeNode"
_PLAN = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_ITERABLE, _PRODUCT = "scala.collection.Iterable", "scala.Product"
_CALLS = {"UnresolvedFunction": "nameParts", "UnresolvedTableValuedFunction": "name"}
"""Nodes that call a function, and which of their members holds the parts of its name."""
_LEAVES = frozenset({"OneRowRelation", "LocalRelation", "UnresolvedInlineTable", *_CALLS})
"""Parsed relations that hold no data but those of the query. A kind that is not known is refused."""
_REFUSED_NODES = {
    "ScriptTransformation": "TRANSFORM ... USING starts a program",
    "PlanWithUnresolvedIdentifier": "IDENTIFIER() hides which table is read",
    "ExpressionWithUnresolvedIdentifier": "IDENTIFIER() hides which name is meant",
}
_NO_DATA = frozenset({"OneRowRelation", "LocalRelation", "Range", "CTERelationRef", "UnionLoopRef"})
_NOTHING_ELSE = "sql reads these tables and views, and nothing else"


def shut_off(spark: SparkSession) -> SparkSession:
    """A session beside this one with its settings, in which no name is a path and no variable is replaced."""
    apart = SparkSession(spark.sparkContext, _java(spark).cloneSession())
    for name, value in _SETTINGS.items():
        apart.conf.set(name, value)
    return apart


def parsed(spark: SparkSession, query: str, names: Collection[str]) -> Any:
    """Spark's syntax tree of a query that reaches these names only.

    Args:
        spark: a session that is shut off.
        query: as its user wrote it.
        names: tables and views, in lower case.

    Raises:
        UsageError: it is no query, or one that reaches further.
        ParseException: it is no SQL.
    """
    parser = _java(spark).sessionState().sqlParser()
    try:
        plan = parser.parseQuery(query)
    except ParseException:
        parser.parsePlan(query)  # SQL after all?
        raise UsageError(ONLY_QUERIES) from None
    _Walk(spark).check(plan, frozenset(names))
    return plan


def analysed(spark: SparkSession, plan: Any, tables: Iterable[DataFrame]) -> DataFrame:
    """The rows of a parsed query, not computed yet.

    Raises:
        UsageError: it reads what is none of these tables.
        AnalysisException: it names what is not there.
    """
    jvm: Any = spark.sparkContext._jvm
    frame = DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(_java(spark), plan), spark)
    ours = [leaf for table in tables for leaf in _leaves(table)]
    for leaf in _leaves(frame):
        if _name(leaf) not in _NO_DATA and not any(leaf.sameResult(one) for one in ours):
            raise UsageError(f"the query reads {leaf.nodeName()}: {_NOTHING_ELSE}")
    return frame


class _Walk:
    """A walk over a syntax tree: everything in it, since plans and expressions stand in lists, maps and pairs too."""

    def __init__(self, spark: SparkSession) -> None:
        self._gateway = spark.sparkContext._gateway
        self._kinds: dict[str, tuple[bool, bool, bool, bool]] = {}

    def check(self, root: Any, names: frozenset[str]) -> None:
        """Refuse a tree in which a node reaches further than these names, however deep."""
        waiting = [(root, names)]
        while waiting:
            node, scope = waiting.pop()
            if not isinstance(node, JavaObject):  # a text or a number, which Py4J makes Python's
                continue
            is_tree, is_plan, is_iterable, is_product = self._kind(node)
            if is_tree:
                _check_node(node, scope, is_plan)
            if _name(node) == "UnresolvedWith":
                waiting += _parts_of_with(node, scope)
            elif is_tree or (is_product and not is_iterable):
                waiting += [(node.productElement(at), scope) for at in range(node.productArity())]
            elif is_iterable:
                waiting += [(part, scope) for part in _each(node)]

    def _kind(self, node: Any) -> tuple[bool, bool, bool, bool]:
        name = node.getClass().getName()
        if name not in self._kinds:
            tree, plan, iterable, product = (
                is_instance_of(self._gateway, node, kind) for kind in (_TREE, _PLAN, _ITERABLE, _PRODUCT)
            )
            self._kinds[name] = (tree, plan, iterable, product)
        return self._kinds[name]


def _parts_of_with(node: Any, names: frozenset[str]) -> Iterator[tuple[Any, frozenset[str]]]:
    """The queries of WITH, each with the names that it knows: those before it, and where it is recursive its own."""
    for named in _each(node.cteRelations()):
        name = str(named._1()).lower()
        yield named._2(), names | {name} if node.allowRecursion() else names
        names |= {name}
    yield node.child(), names


def _check_node(node: Any, names: frozenset[str], is_plan: bool) -> None:
    name = _name(node)
    if name in _REFUSED_NODES:
        raise UsageError(f"{_REFUSED_NODES[name]}: {_NOTHING_ELSE}")
    if name in _CALLS:
        _check_call(".".join(map(str, _each(getattr(node, _CALLS[name])()))))
    elif name == "UnresolvedGenerator":
        _check_call(str(node.name().unquotedString()))
    elif name == "UnresolvedRelation":
        _check_relation([str(part) for part in _each(node.multipartIdentifier())], names)
    elif is_plan and name not in _LEAVES and node.children().isEmpty():
        raise UsageError(f"{name} is no table: {_NOTHING_ELSE}")


def _check_relation(parts: list[str], names: frozenset[str]) -> None:
    if len(parts) > 1:
        raise UsageError(f"{'.'.join(parts)}: {_NOTHING_ELSE}, each by its name alone")
    if parts[0].lower() not in names:
        raise UsageError(unknown_table(parts[0]))


def _check_call(function: str) -> None:
    name = function.lower()
    reason = REFUSED.get(name.rpartition(".")[2])
    if reason is not None:
        raise UsageError(f"the function {function} is refused, for {reason}: {_NOTHING_ELSE}")
    if name not in allowed():
        raise UsageError(unknown_function(function, allowed()))


def _leaves(frame: DataFrame) -> Iterator[Any]:
    """The relations that an analysed query reads, those of its subqueries too."""
    plan = frame._jdf.queryExecution().analyzed()
    for one in (plan, *_each(plan.subqueriesAll())):
        yield from _each(one.collectLeaves())


def _each(values: Any) -> Iterator[Any]:
    iterator = values.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _java(spark: SparkSession) -> Any:
    return spark._jsparkSession
