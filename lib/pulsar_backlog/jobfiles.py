"""Loading job files: the same files that spark-submit runs, run inside this process."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from pulsar_backlog.config import home
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import JOB_OPTIONS


def load_job(name: str) -> ModuleType:
    """The module of a job file.

    Raises:
        UsageError: there is no such job.
    """
    if name not in JOB_OPTIONS:
        raise UsageError(f"there is no job {name!r}; there is: {', '.join(JOB_OPTIONS)}")
    module_name = f"pulsar_backlog_job_{name}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, home() / "jobs" / f"{name}.py")
    if spec is None or spec.loader is None:
        raise UsageError(f"the job file jobs/{name}.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module
