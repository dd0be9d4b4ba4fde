import pyarrow as pa

from pulsar_backlog import errors as errors
from pulsar_backlog.api.audits import AuditResult as AuditResult
from pulsar_backlog.api.audits import audit as audit
from pulsar_backlog.api.backlog import Backlog as Backlog
from pulsar_backlog.api.backlog import open as open
from pulsar_backlog.api.spark_source import register as register

__version__: str

def sql(out: str, query: str, *, endpoint: str | None = None) -> pa.RecordBatchReader: ...
