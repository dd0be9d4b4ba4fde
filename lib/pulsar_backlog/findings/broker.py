"""`B`: broker metadata (PIP-70) and time, along the order of the log."""

from pulsar_backlog.findings.kinds import PULSAR, FindingKind

_SQL_AROUND = "pulsar-backlog locate OUT --id LEDGER:ENTRY"
_SQL_STATS = 'pulsar-backlog sql OUT "SELECT topic, producers FROM topic_stats"'
_SQL_LEDGERS = 'pulsar-backlog sql OUT "SELECT topic, ledger_id, created_time, closed_time FROM ledgers"'

KINDS = (
    FindingKind("B01", "index_gap", "warning",
        "The broker's message index jumps: it counts messages that are not stored here, so offsets of Kafka clients and of indexed readers have holes.",
        "Failed writes on brokers before 2.10.5 and 2.11.1, or, between two ledgers, a ledger that is not here.",
        "Check whether a ledger is missing from the source; if none is, nothing was lost.",
        _SQL_AROUND, f"{PULSAR}/pull/19727",
        counted="Places where the index jumps: {count}; indexes that no stored message has: {extent}."),
    FindingKind("B02", "index_repeat", "warning",
        "The broker gave two messages the same index: whoever finds messages by index gets only one of them.",
        "The index started again after a restart or migration, or a producer declared fewer messages than its batch holds.",
        "Around this place, find messages by position, not by index.",
        _SQL_AROUND, f"{PULSAR}/pull/19727",
        counted="Entries whose index was given out before: {count}."),
    FindingKind("B03", "broker_metadata_mixed", "info",
        "Some entries carry broker metadata and some do not: index and broker time are unknown for the latter, and old clients fail on one kind.",
        "Somebody changed brokerEntryMetadataInterceptors, or another broker version owned the topic.",
        "Rely on index and broker time only within one stretch; the evidence names where each stretch begins.",
        _SQL_AROUND, f"{PULSAR}/issues/26496",
        counted="Places where broker metadata begins or ends: {count}."),
    FindingKind("B04", "broker_time_backwards", "info",
        "The broker's clock went back between two entries: seeking by time and expiry may be wrong around that place.",
        "The topic moved to a broker whose clock is behind, or a clock was set.",
        "Seek by position near there; keep the brokers' clocks together.",
        _SQL_AROUND, f"{PULSAR}/issues/23910",
        counted="Steps back of the broker's clock: {count}, the largest {extent} ms."),
    FindingKind("B05", "publish_time_skew", "warning",
        "A producer's clock is over a minute off the broker's: clients drop its unfinished messages too early or never, and without broker times its messages expire too late or too soon.",
        "The producer's host has a wrong clock, or its messages waited long before they were sent.",
        "Set the host's clock; for its messages use broker times, not publish times.",
        _SQL_STATS, f"{PULSAR}/issues/21347",
        counted="Producers whose clock is over a minute off the broker's: {count}, the farthest {extent} ms."),
    FindingKind("B06", "publish_time_backwards", "info",
        "Publish times do not rise with positions: where no broker times are stored, a seek by time may land anywhere in the named stretch.",
        "Several producers, slow large messages, or clocks that differ.",
        "Ask locate --time for the position; it is right in any order.",
        "pulsar-backlog locate OUT --time TIME", f"{PULSAR}/issues/23910",
        counted="Entries published over a second before one that is stored before them: {count}; a seek by publish time is ambiguous within {extent} ms."),
    FindingKind("B07", "entry_outside_ledger_time", "warning",
        "Entries of a ledger carry times over a minute after the ledger was closed, or before the previous ledger was closed: seeking by time and expiry use closing times, so they go wrong here.",
        "Clocks of producers or brokers are wrong.",
        "Seek by position; set the clocks.",
        _SQL_LEDGERS, f"{PULSAR}/issues/22792",
        counted="Ledgers with entries from over a minute before or after their time: {count}, at most {extent} ms."),
)
