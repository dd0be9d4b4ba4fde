"""Which process of `make test` runs which file: one begins with those that need Spark, the other with the rest."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdist.scheduler.loadfile import LoadFileScheduling
from xdist.workermanage import WorkerController

_SPARK = re.compile(r"\b(spark|bundled|run_audit|run_scan|run_one|run_job_of)\b")
"""A file with one of these words is taken to need the session. A wrong guess costs time, no more."""


class SparkApart(LoadFileScheduling):
    """Whole files, as loadfile gives them out; but a second JVM starts only when nothing else is left to do."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = node.gateway.id == "gw0"
        fitting = (file for file in self.workqueue if needs_spark(file) == first)
        self.workqueue.move_to_end(next(fitting, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)


@cache
def needs_spark(file: str) -> bool:
    """Whether a test file, by its path from the root, mentions the session."""
    return _SPARK.search((Path(__file__).parents[1] / file).read_text()) is not None
