"""A lab backlog with real topic names, ledgers and faults; a clean one; an empty source."""

from __future__ import annotations

from dataclasses import replace

from pulsar_backlog.report.model import (
    Bucket,
    Counts,
    LedgerFacts,
    ReportModel,
    SettingRow,
    TableCount,
    TopicSection,
)
from tests.report.sample_consumers import all_acks, blocked_acks, model_sums, topic_clients
from tests.report.sample_parts import (
    MIXED,
    STARTED_MS,
    T0_MS,
    VERSIONS,
    finding,
    group,
    publication,
    quality,
    section,
    totals,
)
from tests.report.sample_scalable import scalable_sample


def multi_chunk() -> TopicSection:
    """Two producers for half an hour, over two ledgers; healthy."""
    buckets = tuple(
        Bucket(T0_MS + at * 60_000, 10 + at * 7 % 11, (10 + at * 7 % 11) * 40_000, 9 if at % 4 else 0)
        for at in range(30)
        if at not in (11, 12)
    )
    return section(
        "persistent://lab/s3/multi-chunk",
        257,
        sum(b.entries for b in buckets),
        sum(b.bytes for b in buckets),
        ledgers=(
            LedgerFacts(257, 310, 12_400_000, "ok", T0_MS, T0_MS + 20 * 60_000),
            LedgerFacts(258, 148, 5_920_000, "ok", T0_MS + 20 * 60_000, None),
        ),
        ledger_total=2,
        messages=51,
        last_ms=T0_MS + 30 * 60_000,
        bucket_ms=60_000,
        buckets=buckets,
        groups=(group("whole", 49), group("whole", 1, "ledger_span"), group("in_flight", 1, rebuildable=False)),
        settings=(
            SettingRow("maxPendingChunkedMessage", "15", "up to 12 unfinished at once (4,800,000 bytes)"),
            SettingRow("expireTimeOfIncompleteChunkedMessage", "60000 ms", "the slowest whole message took 900 ms"),
        ),
    )


def lab() -> ReportModel:
    """What an audit of the lab backlog would say: broken and healthy topics, one damaged ledger, one unreadable."""
    prefix = "persistent://lab/s3/"
    missing_c09 = finding(
        "C09",
        "raw5-0",
        "Message raw5-0 (4 chunks) lacks chunk 2: bytes 4,000 to 6,000 of 8,000 are missing.",
        topic=prefix + "brk-missing",
        ledger_id=5,
        entry_id=0,
        evidence=("5:0", "5:1", "5:2"),
    )
    missing_c08 = finding(
        "C08",
        "raw5-1",
        "Message raw5-1 (4 chunks) lacks chunk 0.",
        topic=prefix + "brk-missing",
        ledger_id=5,
        entry_id=3,
        sureness="likely",
        reason="no earlier ledger of this topic is in the source",
        evidence=("5:3", "5:4", "5:5"),
    )
    missing_c06 = finding(
        "C06",
        "raw5-2",
        "Message raw5-2 (4 chunks) ends after chunk 2.",
        topic=prefix + "brk-missing",
        ledger_id=5,
        entry_id=6,
        evidence=("5:6", "5:7", "5:8"),
    )
    prefix_c02 = finding(
        "C02",
        "raw2-0",
        "Chunks 0 to 1 of message raw2-0 are stored again before it was complete.",
        topic=prefix + "brk-dup-prefix",
        ledger_id=22,
        entry_id=0,
        count=2,
        evidence=("22:0", "22:1"),
    )
    franken = [
        finding(
            "C33",
            "fr-0",
            "Chunks of two messages under uuid fr-0 follow each other: a client joins them.",
            topic=prefix + "brk-franken",
            ledger_id=27,
            entry_id=0,
            count=2,
            evidence=("27:0", "27:1", "27:2", "27:3"),
        ),
        finding(
            "C12",
            "fr-0",
            "Uuid fr-0 carries 2 messages.",
            topic=prefix + "brk-franken",
            ledger_id=27,
            entry_id=0,
            count=2,
        ),
    ]
    zstd = finding(
        "C14",
        "bz-0",
        "The joined payload of message bz-0 is not ZSTD.",
        topic=prefix + "brk2-bad-zstd",
        ledger_id=13,
        entry_id=3,
        evidence=("13:3", "13:4", "13:5"),
    )
    order = finding(
        "C10",
        "raw4-0",
        "Chunks of message raw4-0 are stored as 0, 2, 1, 3.",
        topic=prefix + "brk-out-of-order",
        ledger_id=24,
        entry_id=0,
        evidence=("24:0", "24:1", "24:2", "24:3"),
    )
    unread = finding(
        "S10",
        "ledger:292",
        "The data object of ledger 292 is 96,112 bytes shorter than its index promises.",
        topic=prefix + "chunk-lz4",
        ledger_id=292,
        reason="the index promises 412,113 bytes",
        incomplete=True,
    )
    rejects = finding(
        "E02",
        "ledger:292",
        "1 entry of ledger 292 could not be decoded.",
        topic=prefix + "chunk-lz4",
        ledger_id=292,
        entry_id=8,
        evidence=("292:8",),
    )
    absent = finding(
        "S15",
        "ledger:266",
        "Ledger 266 is offloaded but not in the source.",
        topic="persistent://lab/fs/map-many",
        ledger_id=266,
    )
    foreign = finding("S03", "notes.txt", "1 object is not an offloaded ledger.", evidence=("notes.txt",))
    topics = (
        section(
            prefix + "brk-missing",
            5,
            14,
            24_388,
            messages=2,
            findings=[missing_c09, missing_c08, missing_c06],
            groups=(
                group("gap", 1),
                group("headless", 1, sureness="likely"),
                group("orphan_prefix", 1),
                group("whole", 1),
            ),
            broken=(
                publication(
                    "raw5-0",
                    "gap",
                    missing_chunk_ids=[2],
                    missing_chunk_count=1,
                    missing_bytes=[{"start": 4000, "end": 6000}],
                ),
                publication(
                    "raw5-1",
                    "headless",
                    first_entry_id=3,
                    last_entry_id=5,
                    missing_chunk_ids=[0],
                    missing_chunk_count=1,
                    missing_bytes=[{"start": 0, "end": 2000}],
                    sureness="likely",
                    reason="no earlier ledger of this topic is in the source",
                ),
                publication(
                    "raw5-2",
                    "orphan_prefix",
                    first_entry_id=6,
                    last_entry_id=8,
                    missing_chunk_ids=[3],
                    missing_chunk_count=1,
                    missing_bytes=[{"start": 6000, "end": 8000}],
                ),
            ),
        ),
        section(
            prefix + "brk-dup-prefix",
            22,
            7,
            12_311,
            messages=2,
            findings=[prefix_c02],
            groups=(group("whole", 1, "repeated_prefix"),),
            broken=(
                publication(
                    "raw2-0",
                    "whole",
                    flags=["repeated_prefix"],
                    rebuildable=True,
                    present_chunks=4,
                    first_ledger_id=22,
                    last_ledger_id=22,
                    last_entry_id=5,
                    reason="both passes hold the same bytes",
                ),
            ),
        ),
        section(
            prefix + "brk-franken",
            27,
            5,
            8_200,
            messages=1,
            findings=franken,
            groups=(group("orphan_prefix", 1, MIXED, "uuid_reused"), group("headless", 1, MIXED, "uuid_reused")),
            broken=(
                publication(
                    "fr-0",
                    "orphan_prefix",
                    flags=[MIXED, "uuid_reused"],
                    first_ledger_id=27,
                    last_ledger_id=27,
                    last_entry_id=1,
                    present_chunks=2,
                    missing_chunk_ids=[2, 3],
                    missing_chunk_count=2,
                    missing_bytes=[{"start": 4000, "end": 8000}],
                ),
                publication(
                    "fr-0",
                    "headless",
                    publish_time_ms=T0_MS + 1,
                    flags=[MIXED, "uuid_reused"],
                    first_ledger_id=27,
                    first_entry_id=2,
                    last_ledger_id=27,
                    last_entry_id=3,
                    present_chunks=2,
                    missing_chunk_ids=[0, 1],
                    missing_chunk_count=2,
                    missing_bytes=[{"start": 0, "end": 4000}],
                ),
            ),
        ),
        section(
            prefix + "brk2-bad-zstd",
            13,
            9,
            18_800,
            messages=3,
            findings=[zstd],
            groups=(group("whole", 1, "decode_fault"), group("whole", 2)),
            broken=(
                publication(
                    "bz-0",
                    "whole",
                    flags=["decode_fault"],
                    rebuildable=True,
                    present_chunks=4,
                    first_ledger_id=13,
                    first_entry_id=3,
                    last_ledger_id=13,
                    last_entry_id=6,
                    reason="all bytes are there and ZSTD refuses them",
                ),
            ),
            acks=blocked_acks(),
            clients=topic_clients(),
        ),
        section(
            prefix + "brk-out-of-order",
            24,
            16,
            32_000,
            messages=4,
            findings=[order],
            groups=(group("out_of_order", 1), group("whole", 3)),
            broken=(
                publication(
                    "raw4-0",
                    "out_of_order",
                    rebuildable=True,
                    present_chunks=4,
                    first_ledger_id=24,
                    last_ledger_id=24,
                    last_entry_id=3,
                    reason="each chunk is stored once",
                ),
            ),
        ),
        section(
            prefix + "chunk-lz4",
            292,
            10,
            316_001,
            messages=2,
            rejected=1,
            findings=[unread, rejects],
            ledgers=(LedgerFacts(292, 9, 316_001, "damaged", T0_MS - 1000, T0_MS + 60_000),),
            groups=(group("whole", 1), group("orphan_prefix", 1, sureness="cannot_tell")),
            broken=(
                publication(
                    "standalone-0-41-1",
                    "orphan_prefix",
                    first_ledger_id=292,
                    last_ledger_id=292,
                    sureness="cannot_tell",
                    reason="the end of ledger 292 could not be read",
                    missing_chunk_ids=[3],
                    missing_chunk_count=1,
                ),
            ),
        ),
        multi_chunk(),
        section("persistent://lab/fs/map-many", 261, 310, 3_100_000, findings=[absent]),
        section(prefix + "ünï-✓", 298, 4, 121_000, messages=2, groups=(group("whole", 1),)),
        section(prefix + '[br]{ace}|\\^`"<>', 315, 4, 121_000, messages=2, groups=(group("whole", 1),)),
    )
    rows = [r for t in topics for r in t.findings] + [foreign]
    groups = tuple(g for t in topics for g in t.groups)
    return ReportModel(
        cluster="lab",
        source="tests/data/backlog/objects",
        out="demo-out",
        started_ms=STARTED_MS,
        seconds=41.25,
        versions=VERSIONS,
        options={"fail-on": "error", "admin": "tests/data/backlog/admin", "topic": "*"},
        exit_code=4,
        counts=Counts(
            topics=10,
            ledgers=12,
            ledgers_not_ok=1,
            entries=sum(t.entries for t in topics),
            rejected=1,
            bytes=sum(t.bytes for t in topics),
            messages=379,
            chunk_entries=331,
        ),
        groups=groups,
        topics=topics,
        findings=tuple(rows),
        finding_totals=totals(rows),
        quality=(
            quality("entries_accounted_for", True, "Every entry that was walked over is decoded or rejected.", 12),
            quality(
                "ledgers_complete",
                False,
                "Every ledger holds as many entries as its metadata promises.",
                12,
                ["ledger:292"],
            ),
        ),
        tables=(
            TableCount("ledgers", 12),
            TableCount("entries", 389),
            TableCount("rejects", 2),
            TableCount("chunked_messages", 67),
        ),
        acks=all_acks(prefix + "brk2-bad-zstd"),
        clients=model_sums(prefix + "brk2-bad-zstd"),
        scalable=scalable_sample(),
    )


def clean() -> ReportModel:
    """One healthy topic, everything read."""
    healthy = replace(multi_chunk(), groups=(group("whole", 50),))
    return ReportModel(
        cluster="lab",
        source="s3://offload/lab",
        out="out",
        started_ms=STARTED_MS,
        seconds=9.0,
        versions=VERSIONS,
        options={},
        exit_code=0,
        counts=Counts(
            topics=1,
            ledgers=2,
            ledgers_not_ok=0,
            entries=healthy.entries,
            rejected=0,
            bytes=healthy.bytes,
            messages=51,
            chunk_entries=200,
        ),
        groups=healthy.groups,
        topics=(healthy,),
        quality=(
            quality("entries_accounted_for", True, "Every entry that was walked over is decoded or rejected.", 2),
        ),
        tables=(TableCount("entries", healthy.entries),),
    )


def empty() -> ReportModel:
    """Nothing found in the source."""
    row = finding("S01", "/tmp/nothing", "The source holds no offloaded ledger.", incomplete=True)
    return ReportModel(
        cluster="lab",
        source="/tmp/nothing",
        out="out",
        started_ms=STARTED_MS,
        seconds=0.4,
        versions=VERSIONS,
        options={},
        exit_code=1,
        counts=Counts(0, 0, 0, 0, 0, 0, None, 0),
        findings=(row,),
        finding_totals=totals([row]),
        data_docs=None,
    )
