"""Questions people ask of the tables, and the SQL that answers them. Runs in Spark and in DuckDB."""

from __future__ import annotations

SAMPLES: tuple[tuple[str, str], ...] = (
    (
        "Which topics are the largest?",
        "SELECT topic, count(*) AS entries, sum(length) AS bytes FROM entries "
        "GROUP BY topic ORDER BY bytes DESC LIMIT 20",
    ),
    (
        "Which chunked messages are broken, and where do they begin?",
        "SELECT topic, chunk_uuid, state, first_ledger_id, first_entry_id, missing_chunk_count "
        "FROM chunked_messages WHERE state <> 'whole' ORDER BY topic, first_ledger_id, first_entry_id",
    ),
    (
        "Which broken messages can be rebuilt?",
        "SELECT topic, chunk_uuid, publish_time, total_bytes FROM chunked_messages "
        "WHERE rebuildable AND state <> 'whole' ORDER BY topic, publish_time",
    ),
    (
        "Which stored chunk entries belong to no delivered message?",
        "SELECT topic, ledger_id, entry_id, chunk_uuid, chunk_id, role FROM chunks "
        "WHERE role <> 'used' ORDER BY ledger_id, entry_id LIMIT 100",
    ),
    (
        "What was found, by code?",
        "SELECT code, name, severity, count(*) AS findings FROM findings GROUP BY code, name, severity ORDER BY code",
    ),
    (
        "What could not be decoded, and why?",
        "SELECT code, field, count(*) AS places FROM rejects GROUP BY code, field ORDER BY places DESC",
    ),
)
"""Question and statement; no statement holds a double quote, `$` or backtick, so it can be typed in double quotes."""
