"""Findings about subscriptions from their states, each about one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import Finding
from pulsar_backlog.subscriptions.analysed import Analysed, span_entries
from pulsar_backlog.subscriptions.holdups import Holdup
from pulsar_backlog.subscriptions.ledger_lengths import Lengths
from pulsar_backlog.subscriptions.limits import LimitsFrom

HeldUp = Mapping[tuple[str, str], Sequence[Holdup]]
"""Why subscriptions do not drain, by topic and name."""

OLD_HOLE_ENTRIES = 10_000
"""A mark-delete that lags this far behind the highest acknowledgement has a cause worth finding."""


_ASSUMED = (
    "neither settings nor a version of its brokers were saved, so the limits of 4.1 and 4.2 are assumed "
    "(--max-ack-ranges, --max-batch-acks, or a snapshot, say what they are)"
)


def findings_of_state(one: Analysed, lengths: Lengths, limits_source: LimitsFrom) -> Iterator[Finding]:
    """What the predictions say of one subscription."""
    if one.newest is None or one.prediction is None:
        return
    p = one.prediction
    if p.dropped_entries or p.dropped_batch_entries:
        dropped = f"{counted(p.dropped_ranges, 'range')} with {counted(p.dropped_entries, 'acknowledged entry')}"
        message = f"The next persist drops {dropped}, and {counted(p.dropped_batch_entries, 'batch state')}."
        finding = _finding(one, "K01", message, p.dropped_entries + p.dropped_batch_entries)
        is_assumed = limits_source == "assumed"
        yield replace(finding, sureness="cannot_tell", reason=_ASSUMED) if is_assumed else finding
    if "frame" in p.over_limits:
        message = f"The state takes {p.ranges_bytes:,} bytes as ranges and {p.long_array_bytes:,} as long lists."
        yield _finding(one, "K02", message)
    acked = one.newest.chosen.acked
    last = acked.last()
    span = span_entries(acked.mark_delete, last, lengths) if last else None
    if span is not None and span >= OLD_HOLE_ENTRIES:
        mark = "{}:{}".format(*acked.mark_delete)
        yield _finding(one, "K03", f"Mark-delete {mark} is {span:,} entries behind the highest acknowledgement.")
    redelivered = sum(map(len, p.redelivered.values()))
    if redelivered and p.redelivered_from:
        first = "{}:{}".format(*p.redelivered_from)
        message = f"{counted(redelivered, 'acknowledged entry')} from {first} on would be delivered again."
        yield _finding(one, "K08", message, redelivered, (first,))
    stored = one.newest.stored
    if stored is not None and stored.downgrade_safe is False:
        form = "as long lists" if stored.state and stored.state.encoding == "long_array" else "in parts or compressed"
        yield _finding(one, "K09", f"The state is stored {form}.")


def findings_of_holdups(held_up: HeldUp) -> Iterator[Finding]:
    """Reasons why subscriptions do not drain that are findings: the first of each code."""
    for (topic, name), reasons in held_up.items():
        for reason in {one.code: one for one in reversed(reasons) if one.code}.values():
            message = f"{reason.evidence[:1].upper()}{reason.evidence[1:]}. {reason.advice}"
            yield Finding(
                reason.code or "", f"{topic} {name}", message, topic=topic, sureness=reason.sureness,
                reason="counts of one moment, as its broker said",
            )  # fmt: skip


def _finding(one: Analysed, code: str, message: str, count: int = 1, evidence: tuple[str, ...] = ()) -> Finding:
    newest = one.newest
    return Finding(
        code, f"{one.topic} {one.name}", message, topic=one.topic, count=count, evidence=evidence,
        sureness=newest.sureness if newest else "cannot_tell", reason=newest.reason if newest else "",
    )  # fmt: skip
