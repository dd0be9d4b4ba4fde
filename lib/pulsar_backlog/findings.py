"""The catalogue of findings: code, severity, what it means, likely cause, remedy, next command.

A finding is a row of the `findings` table; its words live here and nowhere else. Codes are stable:
`S` storage, `E` entries, `C` chunked messages (numbers as in docs/verdicts.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]
Sureness = Literal["certain", "likely", "cannot_tell"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Worst first."""

MAX_EVIDENCE = 20
"""Positions or values a finding carries at most; the tables hold the rest."""

PULSAR = "https://github.com/apache/pulsar"
OFFLOADER = (
    f"{PULSAR}/blob/492eb456/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl"
)


@dataclass(frozen=True)
class FindingKind:
    """What a code means, in words for someone tired and worried.

    Attributes:
        code: stable code.
        name: short name, snake case.
        severity: how bad it is.
        meaning: what it means for whom, one sentence.
        cause: the likely cause.
        remedy: what to do.
        command: the next command to type; `OUT`, `SOURCE` and `SUBJECT` stand for the user's own.
        upstream: where the fact or the fault is documented.
    """

    code: str
    name: str
    severity: Severity
    meaning: str
    cause: str
    remedy: str
    command: str
    upstream: str


@dataclass(frozen=True)
class Finding:
    """One anomaly found, ready to become a row of `findings`.

    Attributes:
        code: code in `CATALOGUE`.
        subject: what it is about; unique together with the code within one job.
        message: the finding in one sentence, with its numbers.
        topic: full topic name, or None.
        ledger_id: ledger, or None.
        entry_id: first entry, or None.
        count: how many entries, messages or objects are concerned.
        sureness: how sure.
        reason: why it is that sure.
        evidence: positions, objects or values; cut to `MAX_EVIDENCE`.
        incomplete: whether something could not be read.
    """

    code: str
    subject: str
    message: str
    topic: str | None = None
    ledger_id: int | None = None
    entry_id: int | None = None
    count: int = 1
    sureness: Sureness = "certain"
    reason: str = "read from the stored bytes"
    evidence: tuple[str, ...] = field(default=())
    incomplete: bool = False

    @property
    def kind(self) -> FindingKind:
        """The catalogue entry of this finding's code."""
        return CATALOGUE[self.code]

    def row(self, cluster: str, job: str) -> dict[str, object]:
        """The finding as a row of the `findings` table."""
        return {
            "cluster": cluster,
            "job": job,
            "code": self.code,
            "name": self.kind.name,
            "severity": self.kind.severity,
            "subject": self.subject,
            "topic": self.topic,
            "ledger_id": self.ledger_id,
            "entry_id": self.entry_id,
            "count": self.count,
            "sureness": self.sureness,
            "reason": self.reason,
            "message": self.message,
            "evidence": list(self.evidence[:MAX_EVIDENCE]),
            "incomplete": self.incomplete,
        }


_SQL_REJECTS = 'pulsar-backlog sql OUT "SELECT * FROM rejects WHERE ledger_id = SUBJECT"'
_SQL_CHUNKED = 'pulsar-backlog sql OUT "SELECT * FROM broken_chunked_messages"'
_SQL_COPIES = 'pulsar-backlog sql OUT "SELECT * FROM ledgers WHERE ledger_id = SUBJECT"'
_EXPLAIN = "pulsar-backlog explain SOURCE LEDGER:ENTRY"
_AUDIT = "pulsar-backlog audit SOURCE --out OUT"

_STORAGE = (
    FindingKind("S01", "nothing_to_audit", "error",
        "No offloaded ledger was found in the source, so nothing can be said about any topic.",
        "A wrong folder, bucket or prefix, or filters that exclude everything.",
        "Check SOURCE, --topic, --ledger, --since and --until; offloaded objects are named <uuid>-ledger-<id>.",
        _AUDIT, f"{OFFLOADER}/DataBlockUtils.java"),
    FindingKind("S02", "source_unreadable", "error",
        "The source, or a part of it, could not be listed or read; what lies there is not in the tables.",
        "Missing permission, wrong credentials, wrong endpoint, or a network fault.",
        "Check credentials (environment, profile, files), --endpoint and read permission, then run the audit again.",
        _AUDIT, "https://docs.aws.amazon.com/AmazonS3/latest/userguide/security-iam.html"),
    FindingKind("S03", "foreign_object", "info",
        "The source holds objects that are not offloaded ledgers; they were left alone.",
        "The bucket is shared, or the folder holds notes and exports as well.",
        "Nothing to do, unless a ledger should be there under this name.",
        _AUDIT, f"{OFFLOADER}/DataBlockUtils.java"),
    FindingKind("S04", "index_without_data", "error",
        "An index object has no data object: the messages of this ledger copy are not in the source.",
        "A partial copy, or the data object was deleted.",
        "Copy the data object too, or take another copy of the ledger; if the bucket itself lacks it, the data is lost there.",
        _SQL_COPIES, f"{OFFLOADER}/BlobStoreManagedLedgerOffloader.java"),
    FindingKind("S05", "data_without_index", "warning",
        "A data object has no index object: the broker cannot read this copy. It was scanned by its block headers.",
        "An offload attempt that failed before the index was written, or a partial copy.",
        "If another complete copy exists this one is a leftover; otherwise copy the index, or rely on the scan.",
        _SQL_COPIES, f"{OFFLOADER}/BlobStoreManagedLedgerOffloader.java"),
    FindingKind("S06", "several_copies", "info",
        "The ledger was offloaded more than once; one copy was scanned, the others are leftovers.",
        "An offload attempt was retried and the first attempt's objects were not deleted.",
        "Nothing is lost. The leftovers cost storage; the ledgers table names which copy the broker uses.",
        _SQL_COPIES, f"{PULSAR}/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedLedgerImpl.java"),
    FindingKind("S07", "copies_disagree", "error",
        "Copies of one ledger promise different numbers of entries or bytes; closed ledgers never change, so one is wrong.",
        "A ledger id that belongs to two clusters in one bucket, or a damaged copy.",
        "Compare the copies in the ledgers table; give saved admin JSON (--admin) so that the broker's copy is known.",
        _SQL_COPIES, f"{OFFLOADER}/BlobStoreManagedLedgerOffloader.java"),
    FindingKind("S08", "bad_index", "error",
        "The index object cannot be decoded: the broker cannot read this ledger. It was scanned by its block headers where data exists.",
        "A truncated or overwritten object.",
        "Fetch the index again from the bucket; if it is damaged there, export what the scan could read.",
        _SQL_COPIES, f"{OFFLOADER}/OffloadIndexBlockImpl.java"),
    FindingKind("S09", "index_disagrees", "error",
        "The index contradicts itself, the block headers or the ledger metadata, so a broker may not find all entries.",
        "A damaged index or data object, or a fault of the offloader.",
        "The message and evidence say where; compare with BookKeeper while it still holds the ledger.",
        _SQL_COPIES, f"{OFFLOADER}/OffloadIndexBlockImpl.java"),
    FindingKind("S10", "data_truncated", "error",
        "The data object is shorter than its index promises: entries at its end are missing.",
        "An interrupted copy or upload.",
        "Copy the object again; if it is short in the bucket, restore it from BookKeeper or a backup.",
        _SQL_REJECTS, f"{OFFLOADER}/BlobStoreBackedReadHandleImpl.java"),
    FindingKind("S11", "data_lengthened", "error",
        "The data object is longer than its index promises: there are bytes a broker never reads.",
        "A writer fault that leaves entries behind, or bytes appended by something else.",
        "Look at what the surplus holds, from the offset in the message on; entries there are lost to the broker.",
        _SQL_COPIES, f"{OFFLOADER}/BlockAwareSegmentInputStreamImpl.java"),
    FindingKind("S12", "block_damaged", "error",
        "A data block's header, entry chain or padding is wrong. Brokers never check it; entries may be unreadable or missing.",
        "Damaged bytes in the data object.",
        "Read the rejects of the ledger for offsets; restore the object from a good copy.",
        _SQL_REJECTS, f"{OFFLOADER}/DataBlockHeaderImpl.java"),
    FindingKind("S13", "entries_missing", "error",
        "The ledger holds fewer entries than its metadata promises, or skips entry ids: those messages are not in the object.",
        "An offload that ended early without an error (an entry larger than a block), or damage.",
        "Compare with BookKeeper while it still holds the ledger; do not delete it there.",
        _SQL_REJECTS, f"{OFFLOADER}/BlockAwareSegmentInputStreamImpl.java"),
    FindingKind("S14", "ledger_length_differs", "error",
        "The entries' bytes do not add up to the length that the ledger metadata records.",
        "Missing, damaged or foreign entries in the object.",
        "Read the rejects of the ledger; compare with another copy.",
        _SQL_REJECTS, "https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-proto/src/main/proto/DataFormats.proto"),
    FindingKind("S15", "ledger_not_in_source", "warning",
        "The broker calls this ledger offloaded, but the source does not hold it: the audit sees only a part of the topic.",
        "A partial copy of the bucket, another bucket or driver, or a lost object.",
        "If SOURCE is the bucket itself, check for deletion; if it is a copy, add the missing objects.",
        _AUDIT, f"{PULSAR}/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/ManagedLedgerInfo.java"),
    FindingKind("S16", "ledger_not_offloaded", "info",
        "The broker knows newer or older ledgers of this topic that are not offloaded; what they hold is not in this audit.",
        "Only closed ledgers are offloaded, and only when the threshold asks for it.",
        "Nothing to do; unload and offload the topic to see its end as well.",
        "pulsar-admin topics offload --size-threshold 0 SUBJECT", f"{PULSAR}/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedLedgerImpl.java"),
    FindingKind("S17", "scanned_object_changed", "error",
        "A data object that was scanned before has changed; closed ledgers never change. It was scanned again.",
        "The object was overwritten, or the folder was replaced by another cluster's copy.",
        "Find out who writes to the source; give each cluster its own --cluster name.",
        _SQL_COPIES, f"{OFFLOADER}/BlobStoreManagedLedgerOffloader.java"),
    FindingKind("S18", "topic_unknown", "warning",
        "Nothing names the topic of this ledger; its entries are in the tables without a topic and its chunks are not assembled.",
        "The index is missing or damaged, and a folder copy has lost the object's user metadata.",
        "Restore the index object, or give saved admin JSON (--admin) that lists the ledger.",
        _SQL_COPIES, f"{OFFLOADER}/BlobStoreManagedLedgerOffloader.java"),
    FindingKind("S19", "admin_json_unusable", "warning",
        "A file in the admin folder could not be used, so what it says is not taken into account.",
        "Truncated or empty JSON, an error page saved as JSON, or a file of another kind.",
        "Save it again: pulsar-admin topics stats-internal -m TOPIC, topics info-internal TOPIC.",
        "pulsar-admin topics stats-internal -m SUBJECT", f"{PULSAR}/blob/492eb456/pulsar-client-admin-api/src/main/java/org/apache/pulsar/common/policies/data/ManagedLedgerInternalStats.java"),
    FindingKind("S20", "admin_disagrees", "error",
        "The broker's record of this closed ledger (entries or bytes) is not what the stored copy promises.",
        "Objects of another cluster with the same ledger id, or damaged metadata.",
        "Check that SOURCE and --admin come from the same cluster.",
        _SQL_COPIES, f"{PULSAR}/blob/492eb456/managed-ledger/src/main/proto/MLDataFormats.proto"),
    FindingKind("S21", "kind_not_supported", "error",
        "The source holds ledgers stored in a way this version does not read; they are not in the tables.",
        "Ledgers of the filesystem offloader (MapFile folders) or streaming offload objects.",
        "Read them with a later version; the rest of the source was audited.",
        _AUDIT, f"{PULSAR}/blob/492eb456/tiered-storage/file-system/src/main/java/org/apache/bookkeeper/mledger/offload/filesystem/impl/FileSystemManagedLedgerOffloader.java"),
    FindingKind("S22", "unknown_format_version", "warning",
        "An object says it was written in a newer offload format; it was read as the known one.",
        "A newer Pulsar release.",
        "Compare the entries with what a client reads before you rely on them.",
        _SQL_COPIES, f"{OFFLOADER}/BlobStoreManagedLedgerOffloader.java"),
)

_ENTRIES = (
    FindingKind("E01", "checksum_mismatch", "error",
        "Stored bytes are not what the producer sent: the CRC-32C does not agree. Clients drop such an entry or get broken data.",
        "Damage in storage or in a copy; brokers refuse wrong checksums at publish.",
        "Restore the object from another copy; the entry's fields in the tables cannot be trusted.",
        _EXPLAIN, f"{PULSAR}/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/protocol/Commands.java"),
    FindingKind("E02", "entries_rejected", "error",
        "Entries could not be decoded; what they held is not in the tables, only their place and first bytes.",
        "Damaged bytes, payload processors that transform entries, or a newer format.",
        "Look at one with explain; restore the object from another copy.",
        _EXPLAIN, f"{PULSAR}/blob/492eb456/pulsar-common/src/main/proto/PulsarApi.proto"),
    FindingKind("E03", "unknown_fields", "info",
        "Entries carry metadata fields this version does not know; everything known was decoded.",
        "Producers or brokers newer than this program.",
        "Nothing is wrong; a later version will show the fields.",
        _EXPLAIN, f"{PULSAR}/blob/00a6bada/pulsar-common/src/main/proto/PulsarApi.proto"),
    FindingKind("E04", "time_out_of_range", "warning",
        "Entries carry times outside the years 1970 to 9999; the time columns are null, the milliseconds are kept.",
        "A producer clock or unit fault (seconds or microseconds given as milliseconds).",
        "Mend the producer; seeks and expiry by time go wrong on this topic.",
        _EXPLAIN, f"{PULSAR}/issues/21347"),
    FindingKind("E05", "no_checksum", "info",
        "Entries were stored without a checksum, so damage to them cannot be noticed.",
        "The producer sends without checksum; brokers accept that.",
        "Nothing is wrong with them as far as anyone can tell.",
        _EXPLAIN, f"{PULSAR}/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/service/Producer.java"),
    FindingKind("E06", "text_not_utf8", "warning",
        "Text fields hold bytes that are not UTF-8; they are shown with replacement characters.",
        "A client library that writes bytes into text fields.",
        "Mend the producer; other clients may fail on these messages.",
        _EXPLAIN, f"{PULSAR}/blob/492eb456/pulsar-common/src/main/proto/PulsarApi.proto"),
    FindingKind("E07", "odd_metadata", "info",
        "Entries carry legal but odd metadata: a repeated property key, an unknown codec number, or the like.",
        "A client library of its own kind.",
        "Nothing is lost; look at the flags column of entries.",
        _EXPLAIN, f"{PULSAR}/blob/492eb456/pulsar-common/src/main/proto/PulsarApi.proto"),
)

_CHUNKS = (
    FindingKind("C02", "repeated_prefix", "warning",
        "Chunks were sent again from the first one before the message was complete: older Java and all released C++ and Python clients lose the message.",
        "A reconnect of the producer in mid-message.",
        "The whole message is stored. Export it before anyone acknowledges it away.",
        _SQL_CHUNKED, f"{PULSAR}/pull/21070"),
    FindingKind("C03", "overlapping_chunks", "warning",
        "Some chunks are stored twice before the message was complete: older Java and all released C++ and Python clients lose the message.",
        "A reconnect of the producer in mid-message, with chunks not yet confirmed.",
        "The whole message is stored. Export it before anyone acknowledges it away.",
        _SQL_CHUNKED, f"{PULSAR}/pull/20948"),
    FindingKind("C04", "tail_residue", "warning",
        "After the complete message some of its chunks are stored again without a beginning: they can stall a Shared subscription.",
        "A resend after the message was stored but not confirmed.",
        "The message is whole; the surplus entries belong to no message.",
        _SQL_CHUNKED, f"{PULSAR}/pull/21101"),
    FindingKind("C05", "whole_duplicate", "warning",
        "The complete message is stored more than once: every client delivers it that often.",
        "A resend of a confirmed message without broker deduplication.",
        "Make consumers idempotent, or turn deduplication on.",
        _SQL_CHUNKED, f"{PULSAR}/pull/20948"),
    FindingKind("C06", "orphan_prefix", "error",
        "The message begins but never ends: it is lost, and its entries hold up consumers and backlog.",
        "The producer died or timed out in mid-message, or deduplication dropped the last chunk.",
        "Nothing of it can be delivered; look for a later retry by the application.",
        _SQL_CHUNKED, f"{PULSAR}/issues/26676"),
    FindingKind("C07", "in_flight", "info",
        "The message is incomplete but may still be arriving: the log ends before anyone can tell.",
        "The producer was in mid-message when the log was cut, or the rest lies in a ledger that is not here.",
        "Wait, or give the audit the later ledgers or saved admin JSON; acknowledge nothing of it.",
        _SQL_CHUNKED, f"{PULSAR}/issues/26676"),
    FindingKind("C08", "headless", "error",
        "The first chunk is not stored here: the message cannot be delivered, and on a Shared subscription it stalls everything.",
        "The ledger with its beginning was trimmed or is not in the source, or the cursor was moved into the middle.",
        "Look in earlier ledgers, another cluster or a backup for the first chunk.",
        _SQL_CHUNKED, f"{PULSAR}/issues/26395"),
    FindingKind("C09", "gap", "error",
        "Chunks in the middle are missing: the message cannot be delivered, though the missing bytes are known exactly.",
        "Deduplication or replication dropped a chunk, an entry is damaged, or a ledger is missing.",
        "Look for the missing chunk in another cluster or copy; the missing byte ranges are in the table.",
        _SQL_CHUNKED, f"{PULSAR}/pull/20948"),
    FindingKind("C10", "out_of_order", "error",
        "All chunks are stored, but not in order: every real client loses this message.",
        "Two threads or connections of one producer, or replication.",
        "The whole message can be rebuilt offline. Export it before anyone acknowledges it away.",
        _SQL_CHUNKED, f"{PULSAR}/pull/21070"),
    FindingKind("C11", "metadata_conflict", "warning",
        "Chunks of one message contradict each other (count, size, codec, key or properties).",
        "A faulty producer, or two messages that share uuid and publish time.",
        "Treat the content with care; look at each chunk.",
        _SQL_CHUNKED, f"{PULSAR}/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/ConsumerImpl.java"),
    FindingKind("C12", "uuid_reused", "warning",
        "Different messages carry the same chunk uuid: a client may take chunks of one for the other.",
        "A producer with a fixed name was restarted without deduplication, so its sequence ids began again.",
        "Turn broker deduplication on, or let the broker name the producer.",
        _SQL_CHUNKED, f"{PULSAR}/pull/7705"),
    FindingKind("C13", "sizes_lie", "error",
        "The sizes or counts in the metadata contradict the stored bytes: some clients crash or reconnect for ever on such a message.",
        "A faulty producer.",
        "Read which clients are hit in docs/verdicts.md; take the message away before those clients meet it.",
        _SQL_CHUNKED, f"{PULSAR}/issues/16796"),
    FindingKind("C14", "decode_fault", "error",
        "The joined payload cannot be decompressed: a Java subscription reconnects for ever and everything behind it is blocked.",
        "A faulty producer or damaged bytes.",
        "Nothing but acknowledging it lets a Java consumer go on; keep a copy of the entries first.",
        _SQL_CHUNKED, f"{PULSAR}/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/ConsumerImpl.java"),
    FindingKind("C15", "malformed_chunk", "error",
        "Chunk fields make no sense together (id outside the count, no uuid, a batch count): clients disagree on what to do.",
        "A faulty producer.",
        "Look at the entries with explain; Java consumers may deliver nothing, not even what follows.",
        _EXPLAIN, f"{PULSAR}/blob/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client/impl/ConsumerImpl.java"),
    FindingKind("C17", "prefix_residue", "warning",
        "After the complete message its first chunks are stored again without an end: they hold a place in every client's memory until they expire.",
        "A resend under broker deduplication, which drops only the last chunk.",
        "The message is whole; the surplus entries belong to no message.",
        _SQL_CHUNKED, f"{PULSAR}/pull/20948"),
    FindingKind("C22", "ledger_span", "info",
        "The message lies in more than one ledger; if the first one is trimmed, readers from the start see it without its beginning.",
        "A ledger was closed in mid-message; that is normal.",
        "Nothing to do; keep both ledgers as long as the message is wanted.",
        _SQL_CHUNKED, f"{PULSAR}/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedLedgerImpl.java"),
    FindingKind("C33", "mixed_content", "error",
        "A client that reads on joins the chunks of two different messages and delivers the mixture without an error.",
        "An unfinished message, and later the rest of another one under the same uuid (a restarted producer with a fixed name).",
        "Do not trust what consumers got from this uuid; the table keeps the two messages apart.",
        _SQL_CHUNKED, f"{PULSAR}/pull/7705"),
    FindingKind("C34", "corrupt_chunk", "error",
        "A chunk is damaged (its checksum does not agree): clients drop it and lose the message, unless another copy is stored.",
        "Damage in storage or in a copy.",
        "Restore the object from another copy; rebuildable says whether a good copy of every chunk is stored here.",
        _SQL_CHUNKED, f"{PULSAR}/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/protocol/Commands.java"),
    FindingKind("C35", "copies_differ", "error",
        "Two copies of one chunk hold different bytes though uuid and publish time are the same: which one is right cannot be told.",
        "A faulty producer, or re-encryption of a resend.",
        "Look at both with explain before you trust the message.",
        _EXPLAIN, f"{PULSAR}/pull/7705"),
    FindingKind("C36", "size_fault", "warning",
        "The chunks are not cut evenly, or one is empty; most clients still deliver the message.",
        "A producer of its own kind.",
        "Compare the delivered payload with the source system.",
        _SQL_CHUNKED, f"{PULSAR}/issues/16796"),
)

CATALOGUE: dict[str, FindingKind] = {k.code: k for k in (*_STORAGE, *_ENTRIES, *_CHUNKS)}
"""Every finding this program can make, by code."""
