"""`topic_digests`: what each job made its rows of a topic of, so that the next run does the topics that changed."""

from pulsar_backlog.tables.contract import CLUSTER, Column, Table, required

TABLE = Table(
    name="topic_digests",
    comment="One row per job and topic partition: a digest of all that the job read of the topic. A run whose digest is another does the topic again; rows and findings of the others stay.",
    columns=(
        CLUSTER,
        required("job", "string", "Job that made rows of the topic: `assemble_chunks`, `model_consumers` or `analyze_subscriptions`."),
        required("topic", "string", "Full name of the topic partition; empty for what concerns all topics: options, settings, release."),
        Column("digest", "string", "Digest of what was read; null where the next run does the topic whatever it reads, as it cannot be told from that alone. With an empty topic what concerns all topics: null where a run was ended before its end, `all` where topics hang together, so that a run that has something new does all of them."),
    ),
    key=("cluster", "job", "topic"),
    slice_columns=("cluster", "job"),
    statistics=("cluster", "job", "topic"),
)
