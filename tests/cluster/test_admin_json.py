"""Folders of admin JSON: as a 4.0.8 broker answered it, and as people spoil it."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.cluster import saved_files
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.documents import documents
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState, broker_copies
from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings import Finding

SAVED = Path(__file__).parents[1] / "data" / "admin" / "saved"
MULTI_CHUNK = "persistent://lab/s3/multi-chunk"
SUBS = "persistent://lab/sub/subs-unbatched"


def saved(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((SAVED / name).read_text("utf-8"))
    return body


def without_metadata(body: dict[str, Any]) -> dict[str, Any]:
    """internalStats as saved without -m."""
    return {**body, "ledgers": [{k: v for k, v in x.items() if k != "metadata"} for x in body["ledgers"]]}


def write(folder: Path, files: dict[str, object]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(json.dumps(content), "utf-8")


def read(folder: Path, files: dict[str, object], known: dict[int, str] | None = None) -> ClusterState:
    write(folder, files)
    return read_cluster_state(folder, known or {})


def the_finding(state: ClusterState) -> Finding:
    assert len(state.findings) == 1
    return state.findings[0]


def types_of(state: ClusterState, topic: str) -> dict[str, str | None]:
    return {name: saved.type for name, saved in (state.topics[topic].subscriptions or {}).items()}


def test_a_real_folder() -> None:
    state = read_cluster_state(SAVED, {})
    assert state.findings == ()
    assert list(state.topics) == [
        "persistent://lab/s3/brk2-tail-orphan",
        "persistent://lab/s3/compact-plain",
        MULTI_CHUNK,
        "persistent://lab/s3/ünï-✓",
        SUBS,
    ]
    assert state.topics[MULTI_CHUNK] == TopicState(
        topic=MULTI_CHUNK,
        ledgers=(
            LedgerRecord(257, MULTI_CHUNK, "5521d652-c72b-48a0-a24c-97e91231f16f", True,
                         310, 11602512, 1795258700048),
            LedgerRecord(258, MULTI_CHUNK, "7ab70005-25d6-429f-82ea-4dc5b08422d6", True,
                         148, 5515307, 1795258928876),
            LedgerRecord(546, MULTI_CHUNK, None, False, None, None, None),  # open: its 0 entries mean nothing
        ),
        last_confirmed=(258, 147),
        last_ledger_created_ms=1795258928899,
        known_until_ms=1795258928899,  # not modificationDate, which is later: it is of another snapshot
        publishers=0,
        subscriptions={},
        state="LedgerOpened",
        terminated=False,
        deduplicated=False,
        open_bytes=0,
        open_ledger_id=546,
    )  # fmt: skip
    assert state.topics[MULTI_CHUNK].empty_ledger_id == 546
    # The subscription's name is not encoded in stats; `None` as text is a subscription without consumers.
    assert types_of(state, SUBS) == {"keyshared/ü": None, "excl": None, "shared-holes": None}
    assert types_of(state, "persistent://lab/s3/brk2-tail-orphan")["py-shared-default-live"] == "Shared"
    # The cursors switched their ledgers 10 ms after the topic's newest ledger was made.
    assert state.topics[SUBS].known_until_ms == 1795256076855


def test_the_newer_snapshot_counts() -> None:
    # compact-plain was saved twice: 267 open, and 267 offloaded with 526 open.
    ledgers = read_cluster_state(SAVED, {}).topics["persistent://lab/s3/compact-plain"].ledgers
    assert [(x.ledger_id, x.entries, x.complete) for x in ledgers] == [(267, 40, True), (526, None, False)]


def test_the_newer_snapshot_counts_in_any_order_of_files(tmp_path: Path) -> None:
    before = saved("lab__s3__compact-plain.after-compaction.internalStats.json")
    after = saved("lab__s3__compact-plain.internalStats.json")
    for index, files in enumerate([{"a": before, "b": after}, {"a": after, "b": before}]):
        state = read(tmp_path / str(index), dict(files))
        assert len(state.topics["persistent://lab/s3/compact-plain"].ledgers) == 2


def test_broker_copies() -> None:
    copies = broker_copies(read_cluster_state(SAVED, {}))
    assert (copies[220].topic, copies[220].uuid) == (SUBS, "555b6926-41f4-4f89-8ca5-d4d46d12998e")
    assert {id_ for id_, copy in copies.items() if copy.topic == SUBS} == {213, 218, 219, 220, 585}


INFO = saved("lab__s3__multi-chunk.internal-info.json")
LIVE = saved("lab__s3__multi-chunk.internalStats.json")
STATS = saved("lab__s3__multi-chunk.stats.json")


@pytest.mark.parametrize(
    ("files", "known", "topic"),
    [
        pytest.param({"x.json": LIVE}, {}, MULTI_CHUNK, id="ledger metadata of internalStats -m"),
        pytest.param({"lab__s3__other.internalStats.json": LIVE}, {257: "persistent://a/b/c"}, MULTI_CHUNK,
                     id="ledger metadata before stored ledgers and file name"),
        pytest.param({"x": without_metadata(LIVE)}, {258: MULTI_CHUNK}, MULTI_CHUNK, id="stored ledgers"),
        pytest.param({"lab__s3__other.info-internal.json": INFO}, {258: MULTI_CHUNK}, MULTI_CHUNK,
                     id="stored ledgers before file name"),
        pytest.param({"a": INFO, "b": LIVE}, {}, MULTI_CHUNK, id="ledgers of another file that names its topic"),
        pytest.param({"s": STATS | {"lastOffloadLedgerId": 258}}, {258: MULTI_CHUNK}, MULTI_CHUNK,
                     id="last offloaded ledger of stats"),
        pytest.param({"p/q/lab__s3__multi-chunk.stats.json": STATS}, {}, MULTI_CHUNK, id="file name"),
        pytest.param({"lab__s3__multi-chunk.json": INFO}, {}, MULTI_CHUNK, id="file name without a kind"),
        pytest.param({"lab__s3__v1.2.internal-info.json": INFO}, {}, "persistent://lab/s3/v1.2", id="dots"),
        pytest.param({"t__n__a__%C3%BC%2520+.internalStats.json": without_metadata(LIVE)}, {},
                     "persistent://t/n/a__ü%20+", id="percent-encoded file name"),
    ],
)  # fmt: skip
def test_what_names_the_topic(tmp_path: Path, files: dict[str, object], known: dict[int, str], topic: str) -> None:
    assert set(read(tmp_path, files, known).topics) == {topic}


@pytest.mark.parametrize(
    ("files", "known"),
    [
        pytest.param({"multi-chunk.json": INFO}, {}, id="nothing names it"),
        pytest.param({"lab__s3.json": INFO}, {}, id="file name with two parts"),
        pytest.param({"l b__s3__x.json": INFO}, {}, id="no tenant is called that"),
        pytest.param({"x": INFO}, {257: MULTI_CHUNK, 258: SUBS}, id="ledgers of two topics"),
        pytest.param({"x": {**STATS, "lastOffloadLedgerId": 0}}, {0: SUBS}, id="stats, never offloaded"),
    ],
)
def test_nothing_names_the_topic(tmp_path: Path, files: dict[str, object], known: dict[int, str]) -> None:
    state = read(tmp_path, files, known)
    assert state.topics == {}
    assert the_finding(state).code == "S19"
    assert the_finding(state).subject == next(iter(files))
    assert "does not say which topic" in the_finding(state).message


def test_partitioned(tmp_path: Path) -> None:
    part = "persistent://lab/s3/part-chunk-partition-"
    bodies = {"live.json": without_metadata(LIVE), "info.json": INFO, "stats.json": STATS}
    state = read(
        tmp_path,
        {
            name: {"metadata": {"partitions": 2}, "version": 0, "partitions": {f"{part}0": body, f"{part}1": {}}}
            for name, body in bodies.items()
        },
    )
    assert list(state.topics) == [f"{part}0"]
    topic = state.topics[f"{part}0"]
    assert topic.ledgers[0] == LedgerRecord(
        257, f"{part}0", "5521d652-c72b-48a0-a24c-97e91231f16f", True, 310, 11602512, 1795258700048
    )
    assert (topic.last_confirmed, topic.publishers) == ((258, 147), 0)
    assert state.findings == ()


GO_INFO = {
    "version": 0, "creationDate": "", "modificationData": "",
    "ledgers": [
        {"ledgerId": 0, "entries": 0, "size": 0, "timestamp": 0, "isOffloaded": False, "offloadedContextUuid": ""}
    ],
    "terminatedPosition": {"ledgerId": 0, "entryId": 0},
    "cursors": {"": {"version": 0, "creationDate": "", "modificationDate": "", "cursorsLedgerId": 0,
                     "markDelete": {"ledgerId": 0, "entryId": 0}, "individualDeletedMessages": None}},
}  # fmt: skip
GO_LIVE = {
    "entriesAddedCounter": 0, "lastLedgerCreatedTimestamp": "", "lastConfirmedEntry": "", "state": "",
    "ledgers": [{"ledgerId": 0, "entries": 0, "size": 0, "timestamp": 0, "offloaded": False, "metadata": ""}],
    "cursors": {"": {"markDeletePosition": "", "readPosition": "", "cursorLedger": 0, "cursorLedgerLastEntry": 0,
                     "individuallyDeletedMessages": "", "lastLedgerWitchTimestamp": "", "state": ""}},
    "compactedLedger": {"ledgerId": 0, "entries": 0, "size": 0, "offloaded": False, "underReplicated": False},
}  # fmt: skip
GO_STATS = {
    "msgInCounter": 0, "publishers": [{"producerId": 0}], "deduplicationStatus": "",
    "subscriptions": {"": {"isReplicated": False, "type": "", "consumers": [{"consumerName": ""}]}},
}  # fmt: skip
"""pulsarctl's structs, https://github.com/apache/pulsar-client-go/blob/03bddae64a06/pulsaradmin/pkg/utils/data.go"""


def through_go(value: Any, struct: Any) -> Any:
    """The value read into a Go struct and written again: what is absent is zero, what is not in the struct is gone."""
    if isinstance(struct, list):
        return [through_go(one, struct[0]) for one in value] if value is not None else None
    if isinstance(struct, dict) and "" in struct:
        return {name: through_go(one, struct[""]) for name, one in (value or {}).items()}
    if isinstance(struct, dict):
        return {name: through_go((value or {}).get(name), zero) for name, zero in struct.items()}
    return struct if value is None else value


def test_what_pulsarctl_saves_says_the_same(tmp_path: Path) -> None:
    structs = {".internal-info.": GO_INFO, ".internalStats.": GO_LIVE, ".stats.": GO_STATS}
    for path in SAVED.glob("*__*.json"):
        struct = next((struct for kind, struct in structs.items() if kind in path.name), None)
        if struct:
            write(tmp_path, {path.name: through_go(json.loads(path.read_text()), struct)})
    real, ours = read_cluster_state(SAVED, {}), read_cluster_state(tmp_path, {})
    assert ours.findings == ()
    # `partitioned-internalStats` has no struct of its own here.
    assert set(real.topics) - set(ours.topics) <= {SUBS}
    for topic, state in ours.topics.items():
        broker = real.topics[topic]
        assert state.ledgers == broker.ledgers
        assert (state.last_confirmed, state.publishers) == (broker.last_confirmed, broker.publishers)
        assert types_of(ours, topic) == types_of(real, topic)
        assert state.terminated == broker.terminated
        assert {(c.name, c.source, c.mark_delete, c.ranges) for c in state.cursors} == {
            (c.name, c.source, c.mark_delete, c.ranges) for c in broker.cursors
        }
        assert state.compacted_ledger_id == broker.compacted_ledger_id


def test_pulsarctl_cannot_say_that_a_topic_is_not_terminated(tmp_path: Path) -> None:
    info = through_go(saved("lab__s3__multi-chunk.internal-info.json"), GO_INFO)
    assert read(tmp_path, {"a.json": info}, {257: MULTI_CHUNK}).topics[MULTI_CHUNK].terminated is None


def test_readers_of_this_program_are_left_out_and_others_are_known_as_readers(tmp_path: Path) -> None:
    """They may be connected while the state is saved: an audit reads live topics by them."""
    own, theirs, like_ours = "pulsar-backlog-reader-02c4e502da", "reader-1", "pulsar-backlog-reader-of-orders"
    cursor = {"markDeletePosition": "9:1", "readPosition": "9:2", "individuallyDeletedMessages": "[]"}
    reader = {"type": "Exclusive", "isDurable": False, "consumers": []}
    names = (own, theirs, like_ours)
    live = {**LIVE, "cursors": {**LIVE["cursors"], **dict.fromkeys(names, cursor)}}
    stats = {**STATS, "subscriptions": {**STATS["subscriptions"], **dict.fromkeys(names, reader)}}
    write(tmp_path, {"lab__s3__multi-chunk.internalStats.json": live, "lab__s3__multi-chunk.stats.json": stats})
    topic = read_cluster_state(tmp_path, {}).topics[MULTI_CHUNK]
    found = topic.subscriptions or {}
    assert {name: found[name].durable for name in found if name in names} == {theirs: False, like_ours: False}
    assert {one.name for one in topic.cursors if one.name in names} == {theirs, like_ours}
    stats["subscriptions"][own] = {**reader, "isDurable": True}  # somebody's subscription of that name is no reader
    write(tmp_path, {"lab__s3__multi-chunk.stats.json": stats})
    assert own in (read_cluster_state(tmp_path, {}).topics[MULTI_CHUNK].subscriptions or {})


def test_only_internal_stats_says_that_an_offload_is_complete(tmp_path: Path) -> None:
    failed = {**LIVE, "ledgers": [{**x, "offloaded": False} for x in LIVE["ledgers"]]}
    uuid = "5521d652-c72b-48a0-a24c-97e91231f16f"
    alone = read(tmp_path / "alone", {"i.json": INFO}, {257: MULTI_CHUNK})
    assert [x.complete for x in alone.topics[MULTI_CHUNK].ledgers] == [None, None, False]
    both = read(tmp_path / "both", {"i.json": INFO, "l.json": failed})
    assert both.topics[MULTI_CHUNK].ledgers[0].complete is False
    assert both.topics[MULTI_CHUNK].ledgers[0].uuid == uuid


def test_internal_info_alone(tmp_path: Path) -> None:
    terminated = {**INFO, "terminatedPosition": {"ledgerId": 258, "entryId": 147}}
    topic = read(tmp_path, {"i.json": terminated}, {257: MULTI_CHUNK}).topics[MULTI_CHUNK]
    assert topic.terminated is True
    assert topic.known_until_ms == 1795258929186
    assert (topic.last_confirmed, topic.state, topic.publishers, topic.subscriptions) == (None, None, None, None)
    # The open ledger's time is that of its creation.
    assert [x.closed_time_ms for x in topic.ledgers] == [1795258700048, 1795258928876, None]


def test_ledgers_of_another_time(tmp_path: Path) -> None:
    # internal-info was saved before 256 was trimmed and after 600 was made.
    ledgers = [{"ledgerId": 256, "entries": 1, "size": 1}, *INFO["ledgers"], {"ledgerId": 600}]
    topic = read(tmp_path, {"i": {**INFO, "ledgers": ledgers}, "l": LIVE}).topics[MULTI_CHUNK]
    assert [x.ledger_id for x in topic.ledgers] == [257, 258, 546, 600]


def test_terminated_and_empty(tmp_path: Path) -> None:
    topic = read(tmp_path, {"l": {**LIVE, "state": "Terminated", "lastConfirmedEntry": "546:-1"}}).topics[MULTI_CHUNK]
    assert topic.terminated is True
    assert topic.last_confirmed == (546, -1)
    state = read(tmp_path, {"l": {**LIVE, "lastConfirmedEntry": "-1:-1"}})
    assert state.topics[MULTI_CHUNK].last_confirmed is None
    assert state.findings == ()


@pytest.mark.parametrize("name", ["README", "a/readme.txt", "Notes.md", "LICENSE"])
def test_documentation_makes_no_audit_incomplete(tmp_path: Path, name: str) -> None:
    state = read(tmp_path, {"good.json": LIVE, name: b"# Saved on Monday\n"})
    assert set(state.topics) == {MULTI_CHUNK}
    finding = the_finding(state)
    assert (finding.code, finding.incomplete, finding.evidence) == ("S55", False, (name,))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("README.md", json.dumps(LIVE)[:-40].encode(), id="truncated JSON under such a name"),
        pytest.param("README", b"", id="empty"),
        pytest.param("orders.stats", b"HTTP 404 Not Found", id="an answer that went wrong"),
        pytest.param("notes.json", b"# Saved on Monday", id="JSON by name"),
    ],
)
def test_what_may_be_saved_state_stays_a_finding(tmp_path: Path, name: str, content: bytes) -> None:
    finding = the_finding(read(tmp_path, {"good.json": LIVE, name: content}))
    assert (finding.code, finding.subject, finding.incomplete) == ("S19", name, True)


def test_documentation_alone_is_no_saved_state(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("nothing yet")
    codes = {finding.code for finding in read_cluster_state(tmp_path, {}).findings}
    assert codes == {"S19", "S55"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n", "empty", id="blank"),
        pytest.param(json.dumps(LIVE)[:-40].encode(), "not whole JSON", id="truncated"),
        pytest.param(b"<!DOCTYPE html><html>502</html>", "an HTML page", id="error page"),
        pytest.param(b"HTTP 404 Not Found\n\nReason: Topic not found", "not whole JSON", id="pulsar-admin's error"),
        pytest.param(b'{"reason": "Topic not found"}', "the broker answered 'Topic not found'", id="REST error"),
        pytest.param(b'{"a": 1}', "neither internalStats", id="another object"),
        pytest.param(b'"x"', "not a JSON object", id="text"),
        pytest.param(b"null", "not a JSON object", id="null"),
        pytest.param(b"\xff\xfe\x00", "not JSON", id="not Unicode"),
        pytest.param(b"\x00\x01\x02", "not whole JSON", id="binary"),
        pytest.param(b"[" * 100_000, "not JSON", id="nested without end"),
        pytest.param(b'{"ledgers": ' + b"9" * 5000 + b"}", "not JSON", id="number without end"),
    ],
)
def test_unusable_file_among_good_ones(tmp_path: Path, content: bytes, message: str) -> None:
    state = read(tmp_path, {"bad.json": content, "good.json": LIVE})
    assert set(state.topics) == {MULTI_CHUNK}
    finding = the_finding(state)
    assert (finding.code, finding.subject, finding.incomplete) == ("S19", "bad.json", True)
    assert message in finding.message


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(json.dumps(LIVE).encode("utf-8-sig"), id="UTF-8 with byte-order mark"),
        pytest.param(json.dumps(LIVE).encode("utf-16"), id="UTF-16, as PowerShell redirects"),
        pytest.param(json.dumps(LIVE, indent=2).encode() + b"\r\n", id="pretty-printed"),
    ],
)
def test_usable_encodings(tmp_path: Path, content: bytes) -> None:
    state = read(tmp_path, {"good": content})
    assert set(state.topics) == {MULTI_CHUNK}
    assert state.findings == ()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param((SAVED / "lab__s3.topics.json").read_bytes(), id="list of topics"),
        pytest.param((SAVED / "lab__s3.scanOffloadedLedgers.response.txt").read_bytes(), id="scan"),
        pytest.param(b'{"partitions": 3, "deleted": false}', id="partition count"),
        pytest.param(b'{"metadata": {"partitions": 3}, "partitions": {}}', id="partitioned topic, no details"),
        pytest.param(b"\xfb\xdb\xab\xcb" + bytes(200), id="offloaded data object"),
        pytest.param(b"\xde\x47\xde\x47" + bytes(200), id="offloaded index object"),
    ],
)
def test_files_that_say_nothing_about_a_topic(tmp_path: Path, content: bytes) -> None:
    state = read(tmp_path, {"other": content, ".hidden": b"\x00", "good": LIVE})
    assert set(state.topics) == {MULTI_CHUNK}
    assert state.findings == ()


def _ledgers(**fields: object) -> dict[str, object]:
    return {**LIVE, "ledgers": [{**LIVE["ledgers"][0], **fields}, LIVE["ledgers"][2]]}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param(_ledgers(ledgerId="257"), "ledgers[0].ledgerId", id="number as text"),
        pytest.param(_ledgers(ledgerId=-1), "ledgers[0].ledgerId", id="negative ledger id"),
        pytest.param(_ledgers(entries=2**63), "ledgers[0].entries", id="larger than a long"),
        pytest.param(_ledgers(entries=1.5), "ledgers[0].entries", id="fraction"),
        pytest.param(_ledgers(entries=True), "ledgers[0].entries", id="boolean as number"),
        pytest.param(_ledgers(offloaded="yes"), "ledgers[0].offloaded", id="text as boolean"),
        pytest.param(_ledgers(metadata="pulsar/managed-ledger=base64:/w=="), "ledgers[0].metadata", id="metadata"),
        pytest.param({**LIVE, "ledgers": [7, *LIVE["ledgers"]]}, "ledgers[0]", id="number as ledger"),
        pytest.param({**LIVE, "lastConfirmedEntry": "1:x"}, "lastConfirmedEntry", id="position"),
        pytest.param({**LIVE, "lastLedgerCreatedTimestamp": "soon"}, "lastLedgerCreatedTimestamp", id="time"),
        pytest.param({**LIVE, "lastLedgerCreatedTimestamp": "2026-11-21T11:02:08"}, "lastLedgerCreatedTimestamp",
                     id="time without an offset"),
        pytest.param({**LIVE, "cursors": [1]}, "cursors", id="list as map"),
    ],
)  # fmt: skip
def test_fields_of_a_wrong_type_are_absent_and_noted(tmp_path: Path, body: dict[str, object], fault: str) -> None:
    state = read(tmp_path, {"lab__s3__multi-chunk.json": body})
    assert set(state.topics) == {MULTI_CHUNK}
    assert the_finding(state).evidence == (fault,)


def test_ledgers_without_an_id_are_left_out(tmp_path: Path) -> None:
    state = read(tmp_path, {"x": {**LIVE, "ledgers": [{"entries": 5}, LIVE["ledgers"][2]]}})
    assert [x.ledger_id for x in state.topics[MULTI_CHUNK].ledgers] == [546]
    assert the_finding(state).evidence == ("ledgers[0].ledgerId",)


def test_a_uuid_that_is_none_is_not_taken_for_a_path(tmp_path: Path) -> None:
    info = {**INFO, "ledgers": [{**INFO["ledgers"][0], "offloadedContextUuid": "../../etc"}]}
    state = read(tmp_path, {"i": info}, {257: MULTI_CHUNK})
    assert state.topics[MULTI_CHUNK].ledgers[0].uuid is None
    assert the_finding(state).evidence == ("ledgers[0].offloadedContextUuid",)


def test_a_partition_that_is_no_topic(tmp_path: Path) -> None:
    state = read(tmp_path, {"x": {"partitions": {"\ud800": LIVE, "orders-partition-0": LIVE}}})
    assert state.topics == {}
    assert the_finding(state).evidence == ("partitions.?", "partitions.orders-partition-0")


def test_one_ledger_under_two_topics_is_disputed(tmp_path: Path) -> None:
    state = read(tmp_path, {"lab__s3__a.json": INFO, "lab__s3__b.json": INFO})
    assert the_finding(state).code == "S20"
    assert the_finding(state).count == 3
    assert state.disputed == {257, 258, 546}
    assert broker_copies(state) == {}


def test_a_ledger_stored_under_another_topic_is_disputed(tmp_path: Path) -> None:
    state = read(tmp_path, {"x": LIVE}, {257: SUBS, 258: MULTI_CHUNK})
    finding = the_finding(state)
    assert (finding.code, finding.ledger_id, finding.evidence) == ("S20", 257, ("ledger 257",))
    assert set(broker_copies(state)) == {258, 546}


def test_sizes_on_both_sides_of_the_limit(tmp_path: Path) -> None:
    write(tmp_path, {"x": LIVE})
    size = (tmp_path / "x").stat().st_size
    assert len(read_cluster_state(tmp_path, {}, max_file_bytes=size).topics) == 1
    state = read_cluster_state(tmp_path, {}, max_file_bytes=size - 1)
    assert state.topics == {}
    assert f"{size} bytes" in the_finding(state).message


def test_unreadable_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a-pipe")  # reading it would never end
    (tmp_path / "b-link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c-failing").symlink_to("/proc/self/mem")  # a regular file whose first byte cannot be read
    findings = read(tmp_path, {"good": LIVE}).findings
    assert [(f.subject, f.incomplete) for f in findings] == [
        ("a-pipe", True), ("b-link", True), ("c-failing", True)
    ]  # fmt: skip


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_unreadable_folder(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0)
    finding = the_finding(read(tmp_path, {"good": LIVE}))
    assert (finding.subject, finding.incomplete) == ("locked", True)


def test_file_names_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.json")).write_text("{")
    assert the_finding(read_cluster_state(tmp_path, {})).subject == "?.json"


def test_a_folder_with_nothing_to_use_is_said(tmp_path: Path) -> None:
    assert the_finding(read_cluster_state(tmp_path, {})).subject == "."
    with pytest.raises(UsageError, match="no folder"):
        read_cluster_state(tmp_path / "missing", {})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(base=st.sampled_from([LIVE, INFO, STATS]), data=st.data())
def test_any_field_may_hold_anything(base: dict[str, Any], data: st.DataObject, tmp_path_factory: Any) -> None:
    body = json.loads(json.dumps(base))
    target = data.draw(st.sampled_from([body, *body.get("ledgers", [])]))
    target[data.draw(st.sampled_from(list(target)))] = data.draw(_JSON)
    folder = tmp_path_factory.mktemp("any")
    state = read(folder, {"lab__s3__multi-chunk.json": body})
    assert json.dumps([f.row("c", "j") for f in state.findings]).isascii()
    for record in broker_copies(state).values():
        assert 0 <= record.ledger_id < 2**63
    shutil.rmtree(folder)


def test_the_compacted_ledger_by_the_property_of_its_cursor(tmp_path: Path) -> None:
    """internal-info names it there alone; internalStats has an element of its own, of a broker that is older none."""
    folder = SAVED.parents[1] / "compacted" / "admin"
    for name in ("internal-info", "internalStats"):
        body = json.loads((folder / f"lab__s3__compact-chunk.{name}.json").read_text())
        body.pop("compactedLedger", None)
        place = tmp_path / name
        place.mkdir()
        (place / f"lab__s3__compact-chunk.{name}.json").write_text(json.dumps(body))
        state = read_cluster_state(place, {})
        assert state.topics["persistent://lab/s3/compact-chunk"].compacted_ledger_id == 481
        assert state.findings == ()


@pytest.mark.parametrize(
    ("last", "open_entries", "expected"),
    [
        ("258:147", 0, 546),
        ("546:-1", 0, 546),
        ("546:0", 0, None),  # the list of ledgers says 0 of an open one, however many it has
        ("546:9", 10, None),  # closed
        ("-1:-1", 0, None),  # nobody says where the log ends
    ],
)
def test_the_open_ledger_is_empty_where_the_log_ends_before_it(
    tmp_path: Path, last: str, open_entries: int, expected: int | None
) -> None:
    ledgers = [*LIVE["ledgers"][:-1], {**LIVE["ledgers"][-1], "entries": open_entries}]
    state = read(tmp_path, {"x": {**LIVE, "lastConfirmedEntry": last, "ledgers": ledgers}})
    assert state.topics[MULTI_CHUNK].empty_ledger_id == expected


def test_a_folder_is_parsed_once_and_read_anew_for_other_ledgers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(saved_files, "documents", lambda *of: (parsed.append(of[1]), documents(*of))[1])
    files: dict[str, object] = {"x": without_metadata(LIVE)}
    nameless = read(tmp_path, files)
    assert (list(nameless.topics), the_finding(nameless).code) == ([], "S19"), "nothing names its topic"
    named = read_cluster_state(tmp_path, {258: MULTI_CHUNK})
    assert (list(named.topics), named.findings) == ([MULTI_CHUNK], ())
    assert parsed == ["x"]
    (tmp_path / "y").write_text(json.dumps(LIVE))
    assert list(read_cluster_state(tmp_path, {}).topics) == [MULTI_CHUNK], "a file that came"
    assert parsed == ["x", "x", "y"]
