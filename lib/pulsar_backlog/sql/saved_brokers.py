"""Version and settings of brokers that an audit was given with a snapshot; no JVM is started."""

from __future__ import annotations

from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.cluster.topic_states import SavedTopic
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal

_STATES = "SELECT state FROM saved_states"


def saved_brokers(out: str, cluster: str, endpoint: str | None = None) -> SavedSettings:
    """What the tables say of a cluster's brokers; nothing where no snapshot of it was given."""
    query = f"{_STATES} WHERE topic = '' AND cluster = {literal(cluster)}"
    with opened(out, query, endpoint) as connection:
        rows = rows_of(connection, query)
    for row in rows:
        try:
            settings = SavedTopic.from_json(row["state"]).settings
        except ValueError:
            continue  # of a version that said other things
        if settings is not None:
            return settings
    return SavedSettings()
