"""`cut_off_entries`: entries behind the recorded end of a ledger, and whether their producer was told they are stored."""

from pulsar_backlog.tables.contract import CLUSTER, ENTRY_ID, LEDGER_ID, TOPIC, Column, Table, required

TABLE = Table(
    name="cut_off_entries",
    comment="One row per entry in the files of bookies that lies behind the recorded end of its ledger, at most the first 10,000 of each ledger. No client reads them, and they are in no other table.",
    columns=(
        CLUSTER,
        TOPIC,
        LEDGER_ID,
        ENTRY_ID,
        required("end_entries", "bigint", "Entries that the ledger has by its metadata."),
        required("grade", "string", "How sure it is that the add was confirmed: `certain` (a later entry names it as confirmed), `likely` (it and all before it behind the end have copies on as many bookies as the ack quorum, or the next ledger's index counts it), `cannot_tell`."),
        required("reason", "string", "Why, as a sentence."),
        required("bookies", "int", "Bookies of the source with a copy that its digest proves."),
        Column("ack_quorum", "int", "Copies by which an add is confirmed; null when the ledger's metadata were not saved."),
        Column("producer_name", "string", "Producer; null when it is no message that can be read."),
        Column("sequence_id", "bigint", "Its sequence id, to be used again when the message is republished; null as above."),
        Column("publish_time", "timestamp", "When the producer sent it by its own clock, UTC; null as above."),
        Column("messages", "int", "Messages in it; null as above."),
        Column("index", "bigint", "Running index of its last message; null when it has none."),
        Column("checksum", "bigint", "Stored CRC-32C of metadata and payload, unsigned; null when absent."),
        required("uri", "string", "File of the copy that is believed, relative to the source."),
        required("offset", "bigint", "First byte of the entry in that file."),
        required("length", "int", "Bytes of the entry."),
        Column("payload_length", "int", "Bytes of its payload as stored; null as of `producer_name`.", since=2),
        Column("highest_sequence_id", "bigint", "Sequence id of the last message of a batch; null when its producer did not say.", since=2),
        Column("batched", "boolean", "Whether it is a batch; null as of `producer_name`.", since=2),
        Column("encrypted", "boolean", "Whether its payload is encrypted; null as of `producer_name`.", since=2),
        Column("hindrance", "string", "Why it cannot be published again by itself: `chunk` of a larger message, in a `transaction`, a broker's `marker`, `replicated` from another cluster, a `copy` that a repair published, `unknown_fields` in its metadata, its `checksum` (absent, or it does not agree); empty when nothing hinders; null as of `producer_name`.", since=2),
    ),
    key=("cluster", "ledger_id", "entry_id"),
    slice_columns=("cluster",),
    statistics=("cluster", "topic"),
)
