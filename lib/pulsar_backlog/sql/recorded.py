"""What earlier runs left in the tables, for commands that look before they start Spark."""

from __future__ import annotations

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import opened, rows_of

_QUERY = "SELECT DISTINCT cluster FROM runs ORDER BY cluster"


def cluster_of(out: str, named: str | None, endpoint: str | None = None) -> str:
    """The cluster whose tables a command reads: the one that is named, or the only one there is.

    Args:
        out: folder or bucket of the tables.
        named: with `--cluster`; None where it was not given.
        endpoint: of an S3 service that is not AWS.

    Raises:
        UsageError: there are no tables, none of that cluster, or those of several and none is named.
    """
    with opened(out, _QUERY, endpoint) as connection:
        names = [row["cluster"] for row in rows_of(connection, _QUERY)]
    if not names:
        raise UsageError(f"{out} holds no tables of any cluster: audit first")
    listed = ", ".join(names)
    if named is not None and named not in names:
        raise UsageError(f"{out} holds nothing of cluster {named!r}: name another with --cluster ({listed})")
    if named is None and len(names) > 1:
        raise UsageError(f"{out} holds tables of several clusters: name one with --cluster ({listed})")
    return named or names[0]
