"""Commands that are printed for people to type, each with the options of the run that it follows.

A command on a source (`audit`, `explain`) and one on its tables (`export`, `sql`) reach what the run reached: the same
endpoint, brokers, saved state. Only `audit` does the same work again, so only it takes the run's choices too.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.ledgers.buckets.addresses import own_endpoint
from pulsar_backlog.ledgers.live.service import is_service
from pulsar_backlog.options.declared import OPTIONS, Options
from pulsar_backlog.options.jobs import JOB_OPTIONS

_STORE = ("endpoint", "store_attempts", "store_timeout_seconds", "store_range_bytes", "store_concurrency")
_BROKERS = (
    "live", "admin_url", "token_file", "ca_file", "cert_file", "key_file", "timeout_seconds", "token_without_tls",
    "broker_host",
)  # fmt: skip
_REACH = frozenset({"cluster", "admin", "max_rate", "min_rate", *_STORE, *_BROKERS})
"""Options that say where something is and how it is reached, not what is done with it."""

COMMAND_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "audit": (
        "out", "admin", "topic", "ledger", "since", "until", "cluster", *_STORE, "live", "admin_url", "max_rate",
        "min_rate", *_BROKERS[2:], "budget_bytes", "sample", "limit", "grace_seconds", "model", "max_ack_ranges",
        "max_batch_acks", "fail_on", "known", "metrics", "report_url", "exit_zero_when_unchanged",
    ),
    "bundle": ("cluster", "endpoint", *_BROKERS),
    "changes": ("cluster", "endpoint"),
    "compare": (
        "out", "cluster", "cluster_b", "topic", "map_topic", "private_keys", "private_keys_command", "endpoint",
        "fail_on", "known", "metrics", "exit_zero_when_unchanged",
    ),
    "doctor": ("endpoint", *_BROKERS),
    "estimate": ("ledger", *_STORE),
    "explain": ("endpoint", "admin", "min_rate", *_BROKERS),
    "export": (
        "out", "topic", "since", "until", "producer", "key", "state", "transactions", "private_keys",
        "private_keys_command", "to", "format", "schemas", "decode", "columns", "mask", "inline_limit_bytes",
        "max_message_bytes", "only_cut_off", "cluster", *_STORE,
        "live", "admin_url", "max_rate", "min_rate", *_BROKERS[2:], "fail_on", "exit_zero_when_unchanged",
    ),
    "forecast": ("endpoint",),
    "internals": ("cluster", "endpoint"),
    "inventory": ("cluster", "endpoint"),
    "locate": ("cluster", "endpoint"),
    "maintain": ("keep_days", "retention_hours", "cluster", "endpoint"),
    "messages": (
        "topic", "key", "since", "until", "producer", "transactions", "private_keys", "private_keys_command", "schemas",
        "decode", "mask", "admin", *_STORE, "live", "admin_url", "max_rate", "min_rate", *_BROKERS[2:],
    ),
    "rebuild-index": ("to", "admin", *_STORE),
    "rebuild-topic": ("topic", "ledger", "admin", *_STORE),
    "repair apply": ("endpoint", *_BROKERS[1:]),
    "repair missing": ("endpoint",),
    "repair verify": _BROKERS[1:],
    "repair plan": (
        "topic", "subscription", "code", "severity", "min_age", "max_count", "max_bytes", "model", "republish_to",
        "accept_unsure", "give_up", "exported", "earlier", "as_stored", "message", "cut_off",
        "cluster", "endpoint",
    ),
    "sql": ("endpoint",),
}  # fmt: skip
"""Which command takes which options of jobs, in the order in which its help lists them."""

_ON_SOURCE = ("audit", "doctor", "estimate", "explain", "messages", "rebuild-index", "rebuild-topic")
_ON_TABLES = ("bundle", "changes", "forecast", "internals", "inventory", "locate", "maintain", "repair plan", "sql")
"""Commands that read only tables: their endpoint is that of the results."""
_IN_TEXT = re.compile(rf"pulsar-backlog ({'|'.join(COMMAND_OPTIONS)}) (?:SOURCE --out OUT|SOURCE|OUT)\b")
_AUDIT_JOBS = ("inventory_ledgers", "scan_entries", "assemble_chunks", "model_consumers", "analyze_subscriptions")


@dataclass(frozen=True)
class Run:
    """A run, as the commands that follow it have to name it.

    Attributes:
        source: where its ledgers lie.
        out: the folder or bucket of its tables.
        options: that it was given, by name.
        one_cluster: whether the tables are of no other cluster.
    """

    source: str
    out: str
    options: Mapping[str, object] = field(default_factory=dict)
    one_cluster: bool = True

    def command(self, name: str, *words: str) -> str:
        """A command as it is typed.

        Args:
            name: as in `COMMAND_OPTIONS`.
            words: what it is told besides; those that others wrote are quoted already.
        """
        return " ".join(("pulsar-backlog", name, self.words(name), *words))

    def fill(self, text: str) -> str:
        """A text with the places of the commands in it filled in: `pulsar-backlog export OUT`."""
        return _IN_TEXT.sub(lambda match: self.command(match[1]), text)

    def words(self, name: str) -> str:
        """What stands behind a command's name: its place, then the options of the run."""
        words = [shell_word(self.source if name in _ON_SOURCE else self.out)]
        if name == "audit":
            words += ["--out", shell_word(self.out)]
        return " ".join((*words, *self.option_words(name)))

    def option_words(self, name: str) -> Iterator[str]:
        """The options of the run that a command takes, quoted."""
        for option in COMMAND_OPTIONS[name]:
            if self._is_carried(name, option):
                yield from map(shell_word, rendered(OPTIONS[option].flag, self.options[option]))

    def _is_carried(self, name: str, option: str) -> bool:
        value = self.options.get(option)
        if value is None or option == "out" or not (name == "audit" or option in _REACH):
            return False
        if option == "endpoint" and name in _ON_TABLES:
            return self.out.startswith("s3a://") and own_endpoint(self.out) == str(value).rstrip("/")
        if option == "admin" and name == "audit" and self._took_snapshot:
            return False
        if option == "cluster" and name != "audit" and not self.one_cluster:
            return True
        return str(value) != str(OPTIONS[option].words.default)

    @property
    def _took_snapshot(self) -> bool:
        """Whether its saved state is what it asked of the brokers itself: another audit asks them anew."""
        is_live = is_service(self.source) or "live" in self.options
        return is_live and self.options.get("admin") == f"{self.out}/live/begin"


def rendered(flag: str, value: object) -> list[str]:
    """An option as arguments of a command line; none where it is None or a switch that is off."""
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    texts = [str(one) for one in (value if isinstance(value, list | tuple) else (value,))]
    # A value that looks like an option is one argument with its flag.
    return [part for text in texts for part in ((f"{flag}={text}",) if text.startswith("-") else (flag, text))]


def record_of(options: Options, without: Iterable[str]) -> dict[str, str]:
    """Options as the table `runs` records them; `options_of` reads them."""
    return {name: str(value) for name, value in options.model_dump(exclude=set(without), exclude_none=True).items()}


def audit_options(runs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The options of an audit: of each, what the newest run of a job that takes it was given.

    Args:
        runs: `job` and `options` of rows of `runs`, the oldest first.
    """
    options: dict[str, str] = {}
    for run in runs:
        if run["job"] in _AUDIT_JOBS:
            others = {name: text for name, text in options.items() if name not in JOB_OPTIONS[str(run["job"])]}
            options = {**others, **run["options"]}
    return options


def options_of(record: Mapping[str, str]) -> dict[str, object]:
    """Options by name from what `runs` has of them; those of another version of this program are left out."""
    return {name: _value(OPTIONS[name].kind, text) for name, text in record.items() if name in OPTIONS}


@lru_cache(maxsize=256)  # a report asks for each subscription and finding that it draws
def _value(kind: type, text: str) -> object:
    if kind is bool:
        return text == "True"
    return literal_eval(text) if text.startswith("(") else text
