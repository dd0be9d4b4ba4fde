"""Publications and subscriptions for the stall rules, as short as a test row."""

from __future__ import annotations

from pulsar_backlog.subscriptions.stall_values import ChunkSet, Copy, Stall, SubscriptionView
from pulsar_backlog.subscriptions.stalls import judge

ROLES = {"u": "used", "d": "duplicate", "r": "residue", "o": "orphan"}


def chunk_set(text: str, state: str = "whole", n: int = 3, **said: object) -> ChunkSet:
    """Copies from `"0u 1u 2u"`: chunk id and role, at entries 10, 11, ... of ledger 5."""
    copies = tuple(Copy((5, 10 + at), int(word[:-1]), ROLES[word[-1]], 100) for at, word in enumerate(text.split()))
    whole = state in ("whole", "out_of_order")
    facts: dict[str, object] = {
        "rebuildable": whole, "sureness": "certain", "reason": "", "flags": frozenset(),
        "family_in_flight": state == "in_flight", "family_rebuildable": said.get("rebuildable", whole),
    } | said  # fmt: skip
    return ChunkSet(chunk_uuid="p-1", publish_time_ms=1, state=state, num_chunks=n, copies=copies, **facts)  # type: ignore[arg-type]


def view(
    type_: str | None = "Exclusive",
    mark: int = 9,
    last: int | None = None,
    read: int | None = 99,
    sureness: str = "certain",
) -> SubscriptionView:
    """A subscription whose positions are all in ledger 5."""
    return SubscriptionView(
        "s", type_, (5, mark), None if last is None else (5, last), None if read is None else (5, read), sureness, "why"
    )


def stall(
    chunks: ChunkSet, acked: str, subscription: SubscriptionView | None = None, ends_log: bool = False
) -> Stall | None:
    """The verdict; `acked` as `#.#`, one for each copy."""
    return judge(chunks, [mark == "#" for mark in acked], subscription or view(last=50), ends_log)
