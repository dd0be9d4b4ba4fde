"""`B`: broker metadata (PIP-70) and time, along the order of the log."""

from pulsar_backlog.findings.kinds import PULSAR, FindingKind

_SQL_AROUND = "pulsar-backlog locate OUT --id LEDGER:ENTRY"
_SQL_STATS = 'pulsar-backlog sql OUT "SELECT topic, producers FROM topic_stats"'
_SQL_LEDGERS = 'pulsar-backlog sql OUT "SELECT topic, ledger_id, created_time, closed_time FROM ledgers"'

KINDS = (
    FindingKind("B01", "index_gap", "warning",
        "The broker's message index jumps: it counts messages that are not stored here, so offsets of Kafka clients and of indexed readers have holes.",
        "Failed writes on brokers before 2.10.5 and 2.11.1, or, between two ledgers, a ledger that is not here.",
        "Look whether a ledger is missing from the source; otherwise nothing was lost.",
        _SQL_AROUND, f"{PULSAR}/pull/19727"),
    FindingKind("B02", "index_repeat", "warning",
        "The broker gave an index to two messages: who finds messages by index gets one of them.",
        "The index was begun again after a restart or migration, or a producer declared fewer messages than its batch holds.",
        "Find messages by position, not by index, across this place.",
        _SQL_AROUND, f"{PULSAR}/pull/19727"),
    FindingKind("B03", "broker_metadata_mixed", "info",
        "Some entries carry broker metadata and some do not: index and broker time are unknown for the latter, and old clients fail on one kind.",
        "brokerEntryMetadataInterceptors was switched, or another broker version owned the topic.",
        "Rely on index and broker time only within one stretch; evidence names where each begins.",
        _SQL_AROUND, f"{PULSAR}/issues/26496"),
    FindingKind("B04", "broker_time_backwards", "info",
        "The broker's clock went back between two entries: seeking by time and expiry may be wrong around that place.",
        "The topic moved to a broker whose clock is behind, or a clock was set.",
        "Seek by position near there; keep the brokers' clocks together.",
        _SQL_AROUND, f"{PULSAR}/issues/23910"),
    FindingKind("B05", "publish_time_skew", "warning",
        "A producer's clock is over a minute off the broker's: clients drop its unfinished messages too early or never, and without broker times its messages expire too late or too soon.",
        "The producer's host has a wrong clock, or its messages waited long before they were sent.",
        "Set the host's clock; count on broker times, not publish times, for its messages.",
        _SQL_STATS, f"{PULSAR}/issues/21347"),
    FindingKind("B06", "publish_time_backwards", "info",
        "Publish times do not rise with positions: where broker times are not stored, a seek by time may land anywhere in the stretch that is named.",
        "Several producers, slow large messages, or clocks that differ.",
        "Let locate --time name the position; it is right whatever the order.",
        "pulsar-backlog locate OUT --time TIME", f"{PULSAR}/issues/23910"),
    FindingKind("B07", "entry_outside_ledger_time", "warning",
        "Entries of a ledger say times from over a minute after it was closed, or before the one before it was: seeking by time and expiry go by closing times and go wrong here.",
        "Clocks of producers or brokers that are off.",
        "Seek by position; set the clocks.",
        _SQL_LEDGERS, f"{PULSAR}/issues/22792"),
)
