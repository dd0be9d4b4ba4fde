"""Reject codes: why bytes could not be decoded. Stable, because the `rejects` table stores them.

Codes of scope `entry` mean that one entry is lost to us; codes of scope `structure` are about what lies
around entries (objects, indexes, blocks, padding); codes of scope
`hidden` are about entries that no consumer gets and that a live broker does not send. Payload codes are met where payloads are read.
"""

from __future__ import annotations

ENTRY_CODES: dict[str, str] = {
    "entry_too_short": "The entry ends before its metadata size.",
    "broker_metadata_overruns": "The broker metadata's size is larger than the entry.",
    "broker_metadata_undecodable": "The broker metadata is not valid protobuf.",
    "metadata_overruns": "The metadata's size is larger than the entry.",
    "metadata_too_large": "The metadata is larger than any broker would have taken (16 MiB).",
    "metadata_undecodable": "The message metadata is not valid protobuf.",
    "metadata_incomplete": "The message metadata lacks a required field (producer name, sequence id, publish time).",
    "live_held_back": "The broker has the entry and sends it to nobody: it belongs to an open transaction, or lies behind one.",
    "live_not_sent": "The broker has the entry and did not send it, although it is a message: a filter may hide it.",
    "live_not_given": "The broker confirmed the entry, but neither sends it nor says anything about it.",
}
HIDDEN_CODES: dict[str, str] = {
    "live_marker": "The broker's own marker: it is not a message, and no consumer gets it.",
    "live_aborted": "An entry of an aborted transaction: no consumer gets it.",
}
STRUCTURE_CODES: dict[str, str] = {
    "index_too_short": "The index object ends before its parts do.",
    "index_bad_magic": "The index object does not begin with DE47DE47, or 3D1FB0BC of streaming offload.",
    "index_bad_length": "A length or count in the index is impossible.",
    "index_bad_ledger": "The index of an object of streaming offload gives a ledger another id than the metadata beside it.",
    "index_bad_order": "Index entries are not ascending, or the first is not entry 0 at offset 0.",
    "index_trailing_bytes": "The index object holds bytes after its last part.",
    "ledger_metadata_undecodable": "The ledger metadata in the index, or in a MapFile's first record, is not valid protobuf.",
    "block_beyond_end": "The index names a block that begins or ends beyond the data object.",
    "block_header_too_short": "The data object ends inside a block header.",
    "block_bad_magic": "A block does not begin with FBDBABCB, or 26A66D32 of streaming offload.",
    "block_bad_header_length": "A block header's length is not 128.",
    "block_bad_length": "A block's length, or one in it, is impossible or not what the index says.",
    "block_bad_first_entry": "A block header's first entry id is not what the index says.",
    "block_bad_ledger": "A block of streaming offload says that it is another ledger's.",
    "block_header_not_zero": "The unused part of a block header is not zero.",
    "block_entry_count": "A block, or part of a MapFile, holds more or fewer entries than index, keys and ledger metadata say.",
    "entry_overruns_block": "An entry's length is larger than what is left of its block.",
    "entry_id_out_of_order": "An entry's id is not the previous id + 1.",
    "padding_bad": "Bytes after the last entry of a block are not the padding FEDCDEAD.",
    "bytes_after_last_block": "The data object holds bytes after its last block.",
    "sequence_too_short": "A SequenceFile ends inside its header, or inside the lengths of a block.",
    "sequence_bad_magic": "A SequenceFile does not begin with SEQ.",
    "sequence_bad_version": "A SequenceFile is of a version that is not read.",
    "sequence_bad_class": "Keys or values of a SequenceFile are of another class than the offloader writes.",
    "sequence_bad_header": "A length or flag in the header of a SequenceFile is impossible.",
    "sequence_bad_codec": "A SequenceFile is compressed by a codec that is not read.",
    "sync_mismatch": "A sync marker is not that of the file, or there is none where there must be one.",
    "block_bad_count": "A block of a SequenceFile says that it holds an impossible number of records.",
    "block_bad_key": "A key in a block of a SequenceFile is not 8 bytes long.",
    "block_records_lost": "The rest of a block of a SequenceFile cannot be read, or nothing proves which entries it holds: how many, and from which id on.",
    "section_damaged": "A section of a block of a SequenceFile does not decompress to what it must hold.",
    "record_bad_length": "A record's length is impossible, or is not what its value says.",
    "record_bad_key": "A record's key is not 8 bytes long.",
    "record_damaged": "A record's value does not decompress.",
    "record_overruns_file": "A record or block is longer than what is left: the file is cut off there, or the length is wrong.",
    "map_index_damaged": "The index of a MapFile cannot be read.",
    "log_bad_header": "An entry log or journal of a bookie does not begin as one, or is of a version that is not read.",
    "log_record_cut": "A file of a bookie ends inside a record that was there when it was listed.",
    "digest_mismatch": "The digest that the bookie stored with an entry does not match its bytes.",
    "digest_unverified": "No entry matches a digest that can be computed: all are damaged, or the ledgers have another password than PULSAR_BACKLOG_LEDGER_PASSWORD.",
    "copies_differ": "Two stored copies of one entry hold different bytes; those of bookies both match their digests.",
    "entries_absent": "No file that was read holds these entries: lost, damaged, or in a file, or on a bookie, that is not here.",
    "entries_elsewhere": "These entries lie on other bookies of the ensemble, by the pattern of those that are here.",
    "entry_after_end": "Entries behind the end at which the ledger was closed: no client reads them.",
    "crc_mismatch": "A part of the file does not match its checksum in the checksum file beside it.",
    "crc_file_bad": "The checksum file cannot be read, or is not a checksum file.",
    "crc_file_short": "The checksum file ends before the sums of the file do.",
}
PAYLOAD_CODES: dict[str, str] = {
    "payload_undecodable": "The payload does not decompress.",
    "payload_too_large": "The payload decompresses to more bytes than the limit.",
    "payload_codec_unknown": "The payload's codec belongs to a newer version.",
    "payload_no_key": "The payload is encrypted, and no private key fits.",
    "payload_undecryptable": "The payload is encrypted, and its tag does not match.",
    "batch_bad_count": "The number of messages in the batch is impossible.",
    "batch_member_overruns": "A length in the batch is larger than what is left of it.",
    "batch_member_undecodable": "The metadata of a message in the batch is not valid protobuf.",
    "batch_trailing_bytes": "The batch holds bytes after its last message.",
}
COMPACTED_CODES: dict[str, str] = {
    "compacted_bad_id": "The message id before an entry of a compacted ledger cannot be read.",
    "compacted_bad_length": "A length in an entry of a compacted ledger is impossible.",
}
INTERNAL_CODES: dict[str, str] = {
    "internal_undecodable": "An entry of an internal ledger is not what the kind of its ledger says.",
}
REJECT_CODES: dict[str, str] = {**ENTRY_CODES, **HIDDEN_CODES, **STRUCTURE_CODES, **PAYLOAD_CODES, **COMPACTED_CODES, **INTERNAL_CODES}
"""Every code with its sentence."""
