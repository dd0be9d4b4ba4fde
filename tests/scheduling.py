"""Which process of `make test` runs which file: one begins with those that need Spark, the other with the rest."""

from __future__ import annotations

from xdist.scheduler.loadfile import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.session_needs import needs_spark


class SparkApart(LoadFileScheduling):
    """Whole files, as loadfile gives them out; but a second JVM starts only when nothing else is left to do."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = node.gateway.id == "gw0"
        fitting = (file for file in self.workqueue if needs_spark(file) == first)
        self.workqueue.move_to_end(next(fitting, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)
