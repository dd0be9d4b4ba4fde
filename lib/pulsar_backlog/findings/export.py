"""`X`: messages that an export could not give out, or not vouch for."""

from pulsar_backlog.findings.kinds import EXPLAIN, PULSAR, FindingKind

_CRYPTO = f"{PULSAR}/blob/492eb456/pulsar-client-messagecrypto-bc/src/main/java/org/apache/pulsar/client/impl/crypto/MessageCryptoBc.java"
_COMMANDS = f"{PULSAR}/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/protocol/Commands.java"
_CONSUMER = f"{PULSAR}/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/ConsumerImpl.java"
_TRANSACTIONS = f"{PULSAR}/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/transaction/buffer/impl/TopicTransactionBuffer.java"
SQL_MESSAGES = (
    'pulsar-backlog sql OUT "SELECT ledger_id, entry_id, batch_index, outcome, reason FROM messages WHERE NOT verified"'
)
SQL_SETS = 'pulsar-backlog sql OUT "SELECT * FROM broken_chunked_messages"'

KINDS = (
    FindingKind(
        "X01",
        "chunk_sets_not_exported",
        "warning",
        "Chunked messages that are not whole here were not exported: chunks are missing, or every copy of a chunk is damaged.",
        "See the findings about chunked messages.",
        "Do not acknowledge their entries because of this export; look for the missing chunks in earlier or later ledgers.",
        SQL_SETS,
        _CONSUMER,
    ),
    FindingKind(
        "X02",
        "no_private_key",
        "warning",
        "Encrypted messages were not decrypted: you gave no private key for any of their key names. Their rows say where the ciphertext lies.",
        "The export ran without --private-keys, or with the keys of another time or producer.",
        "Export again with the private keys of the named key names.",
        "pulsar-backlog export OUT --private-keys FOLDER",
        _CRYPTO,
    ),
    FindingKind(
        "X03",
        "undecryptable",
        "error",
        "Encrypted messages do not decrypt, although a private key unwrapped their data key: their bytes or initialisation vector are damaged.",
        "Storage damaged them, or the data key belongs to the payload of another message.",
        "Look at the entries; no client can read them either.",
        EXPLAIN,
        _CRYPTO,
    ),
    FindingKind(
        "X04",
        "payload_undecodable",
        "error",
        "Payloads do not decompress, or batches do not split into their messages.",
        "A faulty producer, or damage before the checksum was made.",
        "Look at the entries; most clients skip or refuse them.",
        SQL_MESSAGES,
        _COMMANDS,
    ),
    FindingKind(
        "X05",
        "payload_of_another_size",
        "warning",
        "Payloads are not as long as their metadata says; the export holds them as they are, not verified.",
        "A faulty producer.",
        "Compare them with what the application expects; clients pad, cut or refuse compressed payloads, and deliver uncompressed ones as they are.",
        SQL_MESSAGES,
        _COMMANDS,
    ),
    FindingKind(
        "X06",
        "message_corrupt",
        "error",
        "Messages were not exported because their bytes do not match their checksum or cannot be decoded.",
        "Storage damaged them, or the object was replaced after the scan.",
        "Look for another copy of the ledger; scan again if the object has changed.",
        EXPLAIN,
        _COMMANDS,
    ),
    FindingKind(
        "X07",
        "message_unreadable",
        "error",
        "Messages were not exported because their bytes could not be read.",
        "The object is gone, shorter than when it was scanned, or the store refused or failed.",
        "Repair access and export again; nothing was lost.",
        "pulsar-backlog export OUT",
        _COMMANDS,
    ),
    FindingKind(
        "X08",
        "transactions_hidden",
        "info",
        "The export left out messages of aborted or open transactions, as clients do.",
        "A transaction was aborted, or was still open where the scanned log ends.",
        "Export with --transactions all to get them, marked as such.",
        "pulsar-backlog export OUT --transactions all",
        _TRANSACTIONS,
    ),
    FindingKind(
        "X09",
        "not_verified",
        "warning",
        "Messages were exported but nothing proves them right: no checksum was stored, or chunks contradict each other.",
        "A producer that sends without checksums, or a faulty one.",
        "Compare them with what the application expects before you acknowledge their entries.",
        SQL_MESSAGES,
        _COMMANDS,
    ),
    FindingKind(
        "X10",
        "message_too_large",
        "warning",
        "Messages were not exported because they are larger than --max-message-bytes, or their metadata says so.",
        "The messages are large, or a few bytes claim or decompress to gigabytes.",
        "Look at their sizes; if they should be so large, export again with a larger --max-message-bytes.",
        SQL_MESSAGES,
        _COMMANDS,
    ),
    FindingKind(
        "X11",
        "no_room_for_messages",
        "error",
        "Messages were not exported because the disk had no room for their payloads.",
        "The disk of --to is full, or nearly.",
        "Make room, or choose another --to, and export again; nothing was lost.",
        "pulsar-backlog export OUT",
        _COMMANDS,
    ),
    FindingKind(
        "X12",
        "transactions_undecided",
        "warning",
        "The export holds messages of v5 transactions, and the log does not tell whether those were committed.",
        "Segments of scalable topics hold no markers: the metadata store keeps what was aborted or is open, below /txn.",
        "Take only those whose transaction you know to be committed: column transaction says cannot_tell.",
        "pulsar-backlog sql OUT \"SELECT topic, ledger_id, entry_id FROM messages WHERE transaction = 'cannot_tell'\"",
        f"{PULSAR}/blob/8dae0236/pip/pip-473.md",
    ),
)
