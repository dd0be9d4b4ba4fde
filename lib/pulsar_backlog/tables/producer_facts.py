"""`producer_facts`: what each producer stored in a stretch of a ledger. Rows add up to producers of a topic."""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

_PLACE = "ledger_id:bigint,entry_id:bigint"

TABLE = Table(
    name="producer_facts",
    comment="One row per producer and stretch of a ledger that one scan task read; the rows of a producer add up.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("first_entry_id", "bigint", "First entry of the producer in the stretch."),
        required("producer_name", "string", "Name of the producer."),
        required("entries", "bigint", "Entries it stored."),
        required("markers", "bigint", "Of them, markers of the broker, which are no messages."),
        required("chunk_entries", "bigint", "Entries that are one of several chunks."),
        required("single_messages", "bigint", "Entries that are one message, not in a batch and not in chunks."),
        required("single_bytes", "bigint", "Payload bytes of `single_messages`."),
        required("batches", "bigint", "Entries that are batches."),
        required("batched_messages", "bigint", "Messages in `batches`, as they say."),
        required("bytes", "bigint", "Bytes of the entries."),
        required("chunk_bytes", "bigint", "Payload bytes of `chunk_entries`."),
        required("largest_entry_bytes", "bigint", "Bytes of the largest entry."),
        Column("first_ms", "bigint", "Earliest time an undamaged entry was stored: by the broker's clock, else by the producer's."),
        Column("last_ms", "bigint", "Latest time, likewise."),
        Column("first_chunk_ms", "bigint", "Earliest time an undamaged chunk was stored."),
        Column("last_chunk_ms", "bigint", "Latest time an undamaged chunk was stored."),
        required("first", f"struct<{_PLACE},index:bigint>", "First entry, with the index of its first message; null index when not known, or when the entry is damaged."),
        required("last_entry", f"struct<{_PLACE}>", "Last entry."),
        Column("last", f"struct<{_PLACE},sequence_id:bigint>", "Last undamaged entry that is a message; null without one."),
        Column("last_message", f"struct<{_PLACE}>", "Last entry that is a message, damaged or not; null without one."),
        Column("largest_header", f"struct<bytes:bigint,{_PLACE}>", "Most bytes before the payload of an undamaged chunk."),
        Column("largest_slice", f"struct<bytes:bigint,length:bigint,{_PLACE}>", "Largest payload, with the bytes of the entry, of an undamaged chunk that is not its message's last."),
        Column("clock_ahead", f"struct<ms:bigint,{_PLACE}>", "How far the producer's clock was ahead of the broker's in the message that came fastest; undamaged ones that were not replicated count."),
    ),
    key=("cluster", "ledger_id", "first_entry_id"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "topic", "ledger_id"),
)
