"""Properties that a repair gives to each message it publishes: they name what the message is a copy of."""

PREFIX = "pulsar-backlog."
"""How the names of all of them begin."""

LOOP_PROPERTY = f"{PREFIX}plan"
"""The plan that published it. Every republished message carries it, and one that does is never republished."""

ACTION_PROPERTY = f"{PREFIX}action"
"""The action of that plan."""

ORIGINAL_ID_PROPERTY = f"{PREFIX}original-id"
"""Message id of the original, as `ledger:entry`."""

ORIGINAL_UUID_PROPERTY = f"{PREFIX}original-uuid"
"""Chunk uuid of the original, where it was chunked."""

ORIGINAL_TOPIC_PROPERTY = f"{PREFIX}original-topic"
"""Topic of the original, where that is another one."""

ORIGINAL_PRODUCER_PROPERTY = f"{PREFIX}original-producer"
"""Producer of an original that lies behind the recorded end of its ledger."""

ORIGINAL_SEQUENCE_ID_PROPERTY = f"{PREFIX}original-sequence-id"
"""Its sequence id, so that consumers can tell it from others."""
