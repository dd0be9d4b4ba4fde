"""The files of a report, written from the tables: pages, result.json, numbers."""

from __future__ import annotations

from collections.abc import Callable

from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.pages import pages
from pulsar_backlog.report.places import FOLDER, REPAIRS
from pulsar_backlog.report.repair_page import render_repairs
from pulsar_backlog.report.result import result_json
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.repairs import history
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.steps.metrics import TABLES_OF_METRICS, write_metrics
from pulsar_backlog.steps.report_model import Gathering
from pulsar_backlog.tableio.beside import Beside
from pulsar_backlog.terms import RESULT_NAME


def write_report(context: JobContext, files: Beside, use: Callable[[ReportModel], None]) -> None:
    """Hand the report's model to `use`, and write all files."""
    files.write(REPAIRS, render_repairs(context.cluster, *history(context.store, context.cluster)))
    written = []
    with query_engine(context) as engine:
        gathering = Gathering(context, engine)
        report = gathering.model()
        write_metrics(context, engine, report.exit_code)
        use(report)
        for name, text in pages(report, gathering.further(), gathering.rest()):
            files.write(name, text)
            written.append(name)
    files.keep_only(FOLDER, {name.removeprefix(f"{FOLDER}/") for name in written})
    files.write(RESULT_NAME, to_json(result_json(report), indent=1) + "\n")


def write_metrics_again(context: JobContext, exit_code: int) -> None:
    """Write the numbers of tables that did not change, with the exit code of now."""
    with query_engine(context, TABLES_OF_METRICS) as engine:
        write_metrics(context, engine, exit_code)
