"""Which finding of the catalogue (findings.py) a state or flag of a publication becomes."""

from __future__ import annotations

from pulsar_backlog.chunks.rows import Flag
from pulsar_backlog.terms import State

STATE_CODES: dict[State, str] = {
    "orphan_prefix": "C06",
    "in_flight": "C07",
    "headless": "C08",
    "gap": "C09",
    "out_of_order": "C10",
    "malformed": "C15",
}
"""Finding code of each state but `whole`, which is none."""

FLAG_CODES: dict[Flag, str] = {
    "repeated_prefix": "C02",
    "overlap": "C03",
    "tail_residue": "C04",
    "whole_duplicate": "C05",
    "metadata_conflict": "C11",
    "uuid_reused": "C12",
    "sizes_lie": "C13",
    "decode_fault": "C14",
    "prefix_residue": "C17",
    "ledger_span": "C22",
    "mixed_with_another_publication": "C33",
    "corrupt_copy": "C34",
    "copies_differ": "C35",
    "size_fault": "C36",
    "resend_residue": "C37",
}
"""Finding code of each flag."""

NO_LOSS: Flag = "resend_residue"
"""Flag of what is incomplete and no loss: its message is stored whole, so its state is no finding."""
