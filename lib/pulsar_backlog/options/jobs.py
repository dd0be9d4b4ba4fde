"""Which job takes which options."""

from __future__ import annotations

from collections.abc import Mapping

_EVERY_JOB = ("out", "cluster", "fail_on", "known", "exit_zero_when_unchanged")
_TABLES_ONLY = ("endpoint", *_EVERY_JOB)
"""Jobs without a source still have to reach the results."""
_LIVE = (
    "live", "admin_url", "max_rate", "min_rate", "token_file", "ca_file", "cert_file", "key_file", "timeout_seconds",
    "token_without_tls", "broker_host",
)  # fmt: skip
_SOURCE = (
    "source", "endpoint", "store_attempts", "store_timeout_seconds", "store_range_bytes", "store_concurrency", *_LIVE,
)  # fmt: skip
_WITH_SOURCE = (*_SOURCE, "admin", "topic", "ledger", "since", "until", *_EVERY_JOB)

JOB_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "inventory_ledgers": _WITH_SOURCE,
    "scan_entries": (*_WITH_SOURCE, "budget_bytes", "sample", "limit"),
    "assemble_chunks": (*_WITH_SOURCE, "grace_seconds"),
    "model_consumers": ("model", *_TABLES_ONLY),
    "analyze_subscriptions": (*_SOURCE, "admin", "max_ack_ranges", "max_batch_acks", *_EVERY_JOB),
    "decode_internals": (*_SOURCE, "admin", *_EVERY_JOB),
    "export_messages": (
        *_SOURCE,
        "topic",
        "since",
        "until",
        "producer",
        "key",
        "state",
        "transactions",
        "private_keys",
        "private_keys_command",
        "to",
        "format",
        "schemas",
        "decode",
        "columns",
        "mask",
        "inline_limit_bytes",
        "max_message_bytes",
        "only_cut_off",
        *_EVERY_JOB,
    ),
    "plan_repair": (
        "topic",
        "subscription",
        "code",
        "severity",
        "min_age",
        "max_count",
        "max_bytes",
        "model",
        "republish_to",
        "accept_unsure",
        "give_up",
        "exported",
        "earlier",
        "as_stored",
        "message",
        "cut_off",
        *_TABLES_ONLY,
    ),
    "check_quality": _TABLES_ONLY,
    "compare_clusters": (
        "audit_a",
        "audit_b",
        "cluster_b",
        "topic",
        "map_topic",
        "private_keys",
        "private_keys_command",
        "metrics",
        *_TABLES_ONLY,
    ),
    "compare_audits": _TABLES_ONLY,
    "notify_changes": ("report_url", *_TABLES_ONLY),
    "write_report": ("metrics", *_TABLES_ONLY),
    "maintain_tables": ("keep_days", "retention_hours", "dry_run", *_TABLES_ONLY),
}
"""Every job in the order of the data's way, with the options it takes, in the order they are written."""
