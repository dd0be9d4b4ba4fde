"""Why a publication ends as it does, in words, and how sure that is."""

from __future__ import annotations

from pulsar_backlog.chunks.clients.events import AckReason, DamageKind, HoleReason
from pulsar_backlog.chunks.clients.outcomes import Account, OutcomeWord
from pulsar_backlog.chunks.clients.session import Damage
from pulsar_backlog.chunks.clients.settings import ClientSettings, Profile
from pulsar_backlog.terms import Sureness, least_sure

SEEN_PROFILES: frozenset[Profile] = frozenset({"J-NEW", "C-OLD", "G-NEW"})
"""Profiles whose every row was compared with real runs; the others follow from the clients' code."""

_WORDS: dict[AckReason | HoleReason, str] = {
    "restarted": "its first chunk came again, so the client acknowledged the chunks before",
    "duplicate": "the client acknowledged a repeated chunk",
    "too_old": "an unusable chunk older than the expiry was acknowledged",
    "evicted": "more messages were open than the client keeps, and this was the oldest",
    "incomplete": "auto-ack acknowledged an unusable chunk",
    "expired": "the client acknowledged its chunks when they expired",
    "undecodable": "its payload does not decompress as the metadata says",
    "damaged": "the client acknowledged and skipped a chunk with a wrong checksum or none",
    "headless": "chunks came without their first chunk",
    "gap": "a chunk came too early",
    "out_of_place": "a chunk came again, and the client dropped the message",
    "given_up": "the client dropped the chunks it had",
    "delivered": "the application's acknowledgement reaches only the last chunk of a message",
    "dispatched": "",
    "marker": "",
}
_DAMAGE: dict[DamageKind, str] = {
    "reconnect_loop": "the client loses its connection here, again and again",
    "process_death": "the client's process dies here",
    "panic": "the client panics here",
    "query_failure": "the query fails here",
    "permit_stall": "the client gets nothing more, because it kept too many permits",
    "dispatch_stall": "the broker dispatches nothing more on this Shared subscription",
}
BATCH_UNKNOWN = (
    "how much a broker reads behind a chunk that waits is not known: neither its settings nor its version were saved"
)
_OF_TIME: frozenset[AckReason | HoleReason] = frozenset({"too_old", "expired", "evicted"})
"""Reasons that depend on when the consumer connects and how fast it is."""


def why(account: Account, word: OutcomeWord, damage: Damage | None) -> str:
    """The reason of an outcome; empty where there is nothing to explain."""
    parts = [_WORDS[reason] for reason in account.reasons if _WORDS[reason]]
    if damage is not None and word == "breaks_client":
        parts.insert(0, f"{_DAMAGE[damage.kind]}: {damage.why}")
    elif damage is not None and account.blocked:
        parts.insert(0, f"{_DAMAGE[damage.kind]}, at {damage.position[0]}:{damage.position[1]}")
    if word == "mixed":
        parts.insert(0, "the client joined chunks of different publications under one uuid")
    if account.wrong:
        parts.insert(
            0, "the application gets a part of the message, or more than it, because sizes or counts are wrong"
        )
    if word == "delivered_again":
        parts.insert(0, "it is stored whole more than once, and clients do not remember what they delivered")
    if account.unknown:
        parts.append("its payload was not looked at")
    return "; ".join(parts)


def how_sure(account: Account, word: OutcomeWord, settings: ClientSettings, damage: Damage | None) -> Sureness:
    """How sure an outcome is: never more than what the log holds, or than what is known of the client."""
    grades: list[Sureness] = [account.in_log.sureness]
    if settings.profile not in SEEN_PROFILES or not _OF_TIME.isdisjoint(account.reasons):
        grades.append("likely")
    if account.unknown:
        grades.append("cannot_tell")
    if damage is not None and (word in ("blocked", "breaks_client")):
        grades.append(sureness_of_damage(damage, settings))
    return least_sure(grades) if len(grades) > 1 else grades[0]


def sureness_of_damage(damage: Damage | None, settings: ClientSettings) -> Sureness:
    """How sure it is that the log does this to the client, or nothing; stalls depend on where the consumer began."""
    if settings.profile not in SEEN_PROFILES:
        return "likely"
    return "certain" if damage is None or damage.kind in ("reconnect_loop", "panic") else "likely"
