"""Models that go to the limits: hundreds of topics, and nothing but hostile text."""

from __future__ import annotations

from dataclasses import replace

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.report.acks import Acks, BlockedRow, ListedSubscription
from pulsar_backlog.report.clients import MAX_MODELS, OUTCOMES, ModelSum, TopicClients
from pulsar_backlog.report.model import (
    Bucket,
    Counts,
    LedgerFacts,
    PublicationGroup,
    ReportModel,
    TableCount,
    TopicSection,
)
from pulsar_backlog.subscriptions.advice import Advice
from tests.report.sample_consumers import forecast, hostile_acks, hostile_clients, many_holes
from tests.report.sample_parts import STARTED_MS, T0_MS, VERSIONS, finding, group, publication, quality, section, totals
from tests.report.sample_scalable import hostile_scalable


def huge(topics: int = 500, per_topic: int = 12) -> ReportModel:
    """As large as the bounds allow: hundreds of topics, thousands of findings, long names."""
    codes = [code for code in CATALOGUE if code.startswith(("C", "E"))]
    sections, rows = [], []
    for at in range(topics):
        name = f"a-topic-with-a-rather-long-name-{at:04d}-partition-{at % 8}"
        topic = f"persistent://tenant-{at % 7}/namespace-{at % 31}/{name}"
        own = [
            finding(
                codes[(at + n) % len(codes)],
                f"producer-{at}-{n}",
                f"Message producer-{at}-{n} is one of many examples.",
                topic=topic,
                ledger_id=at,
                entry_id=n,
                evidence=tuple(f"{at}:{n + k}" for k in range(20)),
            )
            for n in range(per_topic)
        ]
        rows += own
        broken = tuple(
            publication(
                f"producer-{at}-{n}",
                "gap",
                missing_chunk_ids=list(range(1, 1000, 2)),
                missing_chunk_count=5000,
                missing_bytes=[{"start": k * 10, "end": k * 10 + 5} for k in range(100)],
                num_chunks=10_001,
            )
            for n in range(50)
        )
        sections.append(
            section(
                topic,
                at,
                10_000 + at,
                5_000_000 * (at + 1),
                findings=own,
                broken=broken,
                groups=(group("whole", 900), group("gap", 70), group("orphan_prefix", 3, sureness="likely")),
                ledgers=tuple(LedgerFacts(at * 1000 + n, 200, 10_000, "ok", T0_MS + n * 60_000) for n in range(50)),
                ledger_total=400,
                bucket_ms=30_000,
                buckets=tuple(Bucket(T0_MS + k * 30_000, k % 50, k % 50 * 500, k % 20) for k in range(96)),
                acks=many_holes(at),
                clients=TopicClients(tuple(forecast(f"model-{n:02d}", 973, lost=70) for n in range(MAX_MODELS))),
            )
        )
    scale = 20
    return ReportModel(
        cluster="prod",
        source="s3://prod-offload",
        out="/data/audit",
        started_ms=STARTED_MS,
        seconds=7384.0,
        versions=VERSIONS,
        options={},
        exit_code=1,
        counts=Counts(topics * scale, 40_000, 0, 100_000_000, 0, 9_000_000_000_000, 90_000_000, 2_000_000),
        groups=tuple(replace(g, publications=g.publications * scale) for s in sections for g in s.groups),
        topics=tuple(sections),
        findings=tuple(rows[:2000]),
        finding_totals=tuple(replace(t, findings=t.findings * scale, count=t.count * scale) for t in totals(rows)),
    )


def at_size(
    topics: int = 2_000, subscriptions: int = 5, batch_topics: int = 500
) -> tuple[ReportModel, list[tuple[TopicSection, ...]]]:
    """An audit of a whole cluster: the model with its first batch of topics, and the others in batches."""
    batches: list[tuple[TopicSection, ...]] = []
    listed: list[ListedSubscription] = []
    for first in range(0, topics, batch_topics):
        batch = []
        for at in range(first, min(first + batch_topics, topics)):
            topic = f"persistent://tenant-{at % 7}/namespace-{at % 31}/orders-of-a-shop-{at:05d}-partition-{at % 8}"
            acks = many_holes(at)
            names = [f"reader-{at:05d}-{n}" for n in range(subscriptions)]
            drawn = tuple(
                replace(facts, row=facts.row | {"subscription": name}, stalls=facts.stalls[:1], cells=facts.cells[::4])
                for facts, name in zip(acks.subscriptions, names, strict=False)
            )
            blocked = at % 9 == 0
            listed += [
                ListedSubscription(
                    topic, name, "whole", 9000, 10_080, 99_000_000, (at, 70_001) if blocked else None, "likely"
                )
                for name in names
            ]
            rows = [finding("C06", f"producer-{at}-0", f"Message producer-{at}-0 ends after chunk 2.", topic=topic)]
            batch.append(
                section(
                    topic, at, 10_000 + at, 5_000_000 * (at + 1), findings=rows if at % 3 == 0 else [],
                    groups=(group("whole", 900), *([group("orphan_prefix", 3)] if at % 3 == 0 else [])),
                    broken=(publication(f"producer-{at}-0", "orphan_prefix"),) if at % 3 == 0 else (),
                    bucket_ms=30_000,
                    buckets=tuple(Bucket(T0_MS + k * 30_000, k % 50 + 1, k % 50 * 500, k % 20) for k in range(128)),
                    acks=replace(acks, subscriptions=drawn, total=subscriptions, blocked=int(blocked)),
                    clients=TopicClients(tuple(forecast(f"model-{n}", 903, lost=3) for n in range(3))),
                )
            )  # fmt: skip
        batches.append(tuple(batch))
    found = [row for batch in batches for one in batch for row in one.findings]
    base = huge(1, 0)
    model = replace(
        base, counts=replace(base.counts, topics=topics), topics=batches[0], findings=tuple(found[:2000]),
        finding_totals=totals(found), subscriptions=tuple(listed), acks=Acks(len(listed), 9, 9),
        groups=tuple(g for batch in batches for one in batch for g in one.groups),
    )  # fmt: skip
    return model, batches[1:]


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=http://evil.example/x onerror=alert(1)>',
    "'; DROP TABLE x; $(reboot) `id` && \\",
    "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "abc\u202egnp.exe\u202c\u2066\u200b\ufeff\u00ad",
    "line\nbreak\r\ttab\x00null\x7fdel\u2028\u2029",
    "\ud800lone surrogate",
    "{{ 7*7 }}{% raw %}[bold red]markup[/bold red][link=http://evil.example]x[/link]",
    "-->]]></style></title></svg>",
    "x" * 5_000_000,
)


def hostile() -> ReportModel:
    """Every text that can come from a topic, a folder or a tampered table is an attack."""
    sections, rows = [], []
    for at, text in enumerate(HOSTILE):
        row = finding(
            "C06",
            text,
            f"Message {text} ends after chunk 2.",
            topic=f"persistent://lab/s3/{text}",
            ledger_id=at,
            entry_id=0,
            reason=text,
            evidence=(text, "1:2"),
        )
        strange = row | {"code": text[:200], "name": text, "severity": text, "sureness": text}
        rows += [row, strange]
        sections.append(
            section(
                row["topic"],
                at,
                3,
                100,
                findings=[row, strange],  # type: ignore[list-item]
                ledgers=(LedgerFacts(at, None, None, text),),
                groups=(group("orphan_prefix", 1), PublicationGroup(text, (text,), False, text, 1)),
                broken=(
                    publication(text, "orphan_prefix", producer_name=text, flags=[text], reason=text),
                    publication(text, text, sureness=text),
                ),
                acks=hostile_acks(text),
                clients=hostile_clients(text),
            )
        )
    rows.append(finding("S19", "x.json", "The file is not JSON.", topic=HOSTILE[2]))
    attack = HOSTILE[0] + HOSTILE[3] + HOSTILE[4]
    return ReportModel(
        cluster=attack,
        source=attack,
        out=attack,
        started_ms=STARTED_MS,
        seconds=1.0,
        versions={attack: attack},
        options={attack: attack},
        exit_code=1,
        counts=Counts(len(sections), 3, 0, 30, 0, 1000, None, 30),
        groups=tuple(g for s in sections for g in s.groups),
        topics=tuple(sections),
        findings=tuple(rows),
        finding_totals=totals(rows),  # type: ignore[arg-type]
        quality=(quality(attack, False, attack, 3, [attack]),),
        tables=(TableCount(attack, 1),),
        subscriptions=tuple(
            ListedSubscription(f"persistent://lab/s3/{text}", text, text, 1, 1, 1, (1, 0), text) for text in HOSTILE
        ),
        acks=Acks(9, 9, 9, (BlockedRow(attack, attack, attack, 1, 0, attack, Advice((), (attack,)), attack, 1, None),)),
        scalable=hostile_scalable(HOSTILE),
        clients=(ModelSum(attack, dict.fromkeys(OUTCOMES, 0) | {"mixed": 1}, 2, attack, attack, 1, 0, attack),),
    )
