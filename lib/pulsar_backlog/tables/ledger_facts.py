"""`ledger_facts`: what the entries of a scanned ledger show together. Made while they are decoded, and never again.

Everything adds up: facts of two pieces of a ledger make the facts of both, and those of ledgers the facts of a topic.
Times are milliseconds, so that they do. An entry whose checksum does not agree tells nothing about itself: its count of
messages and its publish time are left out of what is compared; what the broker wrote before it counts.
"""

from pulsar_backlog.tables.contract import CLUSTER, LEDGER_ID, TOPIC, Column, Table, required

PLACES_TYPE = "struct<code:string,count:bigint,entry_ids:array<bigint>>"
STEPS_TYPE = "struct<code:string,count:bigint,extent:bigint,entry_ids:array<bigint>>"
CELLS_TYPE = "struct<start_ms:bigint,entries:bigint,bytes:bigint,chunk_entries:bigint>"

TABLE = Table(
    name="ledger_facts",
    comment="One row per scanned ledger: counts, extremes, order and sizes over time of its decoded entries.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        required("entries", "bigint", "Entries that were decoded and written to `entries`."),
        required("bytes", "bigint", "Sum of their bytes."),
        required("messages", "bigint", "Messages outside chunks: a batch counts what it says it holds, a chunk and a marker nothing."),
        required("batches", "bigint", "Entries that are batches, of one message too."),
        required("chunk_entries", "bigint", "Entries with chunk fields, markers left out; 0 where nothing names the topic."),
        required("entries_with_uuid", "bigint", "Entries with a chunk uuid, markers too."),
        required("checksum_mismatch", "bigint", "Entries whose CRC-32C does not agree."),
        required("checksum_absent", "bigint", "Entries stored without a checksum."),
        required("broker_timestamps", "bigint", "Entries that tell when the broker added them."),
        required("publish_time_nulls", "bigint", "Entries whose publish time lies outside the years 1970 to 9999."),
        required("non_positive_lengths", "bigint", "Entries without bytes."),
        required("not_ascending", "bigint", "Entries whose id is not above that of the entry before them."),
        required("index_backwards", "bigint", "Entries whose index is not above that of the entry before them."),
        required("broker_time_backwards", "bigint", "Entries with an earlier broker time than the entry before them."),
        required("publish_time_backwards", "bigint", "Entries with an earlier publish time, as on the wire, than the entry before them."),
        required("codecs", "map<string,bigint>", "Entries by codec; codecs without a name count as `UNKNOWN`."),
        Column("first_entry_id", "bigint", "Lowest entry id; null without entries, as all that follows."),
        Column("last_entry_id", "bigint", "Highest entry id."),
        Column("last_byte", "bigint", "Highest offset in the data object at which an entry ends."),
        Column("largest_entry_bytes", "bigint", "Bytes of the largest entry."),
        Column("lowest_index", "bigint", "Lowest index that the broker gave."),
        Column("highest_index", "bigint", "Highest index that the broker gave."),
        Column("oldest_stored_ms", "bigint", "Earliest time an entry was stored: by the broker's clock, else by its producer's."),
        Column("newest_stored_ms", "bigint", "Latest time an entry was stored, likewise."),
        Column("max_publish_skew_ms", "bigint", "Farthest that publish time and broker time of an entry lie apart."),
        Column("newest_publish_ms", "bigint", "Latest publish time of a message."),
        Column("oldest_publish", "struct<publish_ms:bigint,entry_id:bigint>", "Earliest publish time of a message, and the first entry that has it."),
        Column("earliest", "struct<seek_ms:bigint,entry_id:bigint>", "Earliest broker time, else publish time of a message, and the first entry that has it."),
        Column("latest", "struct<seek_ms:bigint,entry_id:bigint>", "The latest likewise, and the last entry that has it."),
        Column("first_index", "bigint", "Index of the first entry; null when the broker gave it none."),
        Column("first_messages", "bigint", "Messages that the first entry counts for in the index, at least 1; null when it is damaged."),
        Column("first_message_index", "bigint", "Index of the first message in the first entry; null when either is not known."),
        Column("first_has_metadata", "boolean", "Whether the first entry begins with broker entry metadata."),
        Column("first_broker_ms", "bigint", "The first broker time of the ledger."),
        Column("last_entry_index", "bigint", "Index of the last entry; null when the broker gave it none."),
        Column("last_index", "bigint", "The last index of the ledger."),
        Column("last_has_metadata", "boolean", "Whether the last entry begins with broker entry metadata."),
        Column("last_broker_ms", "bigint", "The last broker time of the ledger."),
        required("steps", f"array<{STEPS_TYPE}>", "Steps out of order within the ledger by finding code (`B`): how often, how far (indexes or milliseconds), the first 20 entries."),
        required("odd", f"array<{PLACES_TYPE}>", "Entries by finding code (`E01`, `E03` to `E07`): how many, the first 20."),
        Column("cell_ms", "bigint", "Width of `cells`: the least power of two with which at most 128 cover the ledger's times; null without times."),
        required("cells", f"array<{CELLS_TYPE}>", "Entries, bytes and entries with a chunk uuid by the time they were stored; cells begin at multiples of `cell_ms`, empty ones are left out."),
    ),
    key=("cluster", "ledger_id"),
    slice_columns=("cluster", "ledger_id"),
    statistics=("cluster", "topic", "ledger_id"),
)
