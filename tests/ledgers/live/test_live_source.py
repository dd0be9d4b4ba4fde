"""A live topic as a source: what is listed, read, hidden, refused; brokers and admin services are scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.arguments import live_of
from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.explain import explain_entry
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.live import reading
from pulsar_backlog.ledgers.live.pace import Pace
from pulsar_backlog.ledgers.live.place import LivePlace
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.live.values import Hidden, address_of, entry_at
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.options import Options
from pulsar_backlog.scanning.accounts import UnitAccount
from pulsar_backlog.scanning.books import scan_rows
from pulsar_backlog.wire.proto.broker_commands_pb2 import BaseCommand
from tests.cluster.admin_server import AdminServer, Answer, admin_server
from tests.ledgers import encoding
from tests.ledgers.live.brokers import ServedTopic
from tests.ledgers.sources import put
from tests.scanning.scans import scanned
from tests.wire.encode import entry

TOPIC = "persistent://lab/s/a"
PATH = f"{TOPIC}/7"
BODIES = [entry(payload=bytes([n]) * (n * 40 + 1)) for n in range(10)]
UNTIL = 10
"""Entries that are confirmed when the snapshot is taken."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "QUIET_SECONDS", 0.1)


@pytest.fixture
def admin() -> Iterator[AdminServer]:
    with admin_server() as running:
        running.says("/admin/v2/brokers", ["127.0.0.1:8080"])
        yield running


@pytest.fixture
def serve() -> Iterator[Callable[..., ServedTopic]]:
    running: list[ServedTopic] = []

    def begin(entries: dict[int, bytes], ledger_id: int = 7, **how: Any) -> ServedTopic:
        running.append(ServedTopic({(ledger_id, number): data for number, data in entries.items()}, **how))
        return running[-1]

    yield begin
    for one in running:
        one.close()


def says(admin: AdminServer, entry_id: int, **headers: str) -> None:
    named = {f"X-Pulsar-{name.replace('_', '-')}": value for name, value in headers.items()}
    admin.answers[f"/admin/v2/persistent/lab/s/a/ledger/7/entry/{entry_id}"] = Answer(body=b"<bytes>", headers=named)


def place_of(broker: ServedTopic, admin: AdminServer, **fields: Any) -> LivePlace:
    return LivePlace(Live(broker.url, admin.url, max_rate=1 << 40, timeout_seconds=1, **fields))


def read(place: LivePlace, first: int = 0, last: int = UNTIL - 1) -> list[tuple[int, bytes] | Hidden]:
    return list(place.entries(PATH, first, last, 100))


def snapshot(folder: Path, ledgers: list[dict[str, Any]], last: str, size: int = 0) -> str:
    folder.mkdir()
    state = {
        "ledgers": ledgers, "cursors": {}, "lastConfirmedEntry": last, "state": "LedgerOpened",
        "currentLedgerSize": size,
    }  # fmt: skip
    (folder / "lab__s__a.internalStats.json").write_text(json.dumps(state))
    return str(folder)


def opened(broker: ServedTopic, admin: AdminServer, folder: str, source: str | None = None) -> Source:
    live = Live(broker.url, admin.url, folder, max_rate=1 << 40, timeout_seconds=1)
    return open_source(source or broker.url, live=live)


def test_a_range_is_read_and_nothing_stays_behind(serve: Any, admin: AdminServer) -> None:
    broker = serve(dict(enumerate(BODIES)))
    assert read(place_of(broker, admin)) == list(enumerate(BODIES))
    assert read(place_of(broker, admin), 3, 5) == [(3, BODIES[3]), (4, BODIES[4]), (5, BODIES[5])]
    subscribed = [said.subscribe for said in broker.heard if said.type == BaseCommand.SUBSCRIBE]
    assert [one.durable for one in subscribed] == [False, False]
    assert not any(one.force_topic_creation for one in subscribed)
    asked = {said.type for said in broker.heard}
    assert asked == {BaseCommand.CONNECT, BaseCommand.LOOKUP, BaseCommand.SUBSCRIBE, BaseCommand.FLOW}  # no ACK


def test_what_the_broker_hides_is_looked_at_and_named(serve: Any, admin: AdminServer) -> None:
    # 2 and 3 between others; 8 and 9 at the end, where nothing follows.
    broker = serve({n: body for n, body in enumerate(BODIES) if n not in (2, 3, 8, 9)})
    says(admin, 2, marker_type="10")
    says(admin, 3, txn_aborted="true", txn_uncommitted="false")
    says(admin, 8, txn_uncommitted="true")
    says(admin, 9, marker_type="21", txn_uncommitted="true")
    found = read(place_of(broker, admin))
    assert [one.entry_id if isinstance(one, Hidden) else one[0] for one in found] == list(range(10))
    assert [(one.entry_id, one.code) for one in found if isinstance(one, Hidden)] == [
        (2, "live_marker"), (3, "live_aborted"), (8, "live_held_back"), (9, "live_marker"),
    ]  # fmt: skip


def test_a_message_that_is_not_sent_is_no_hole(serve: Any, admin: AdminServer) -> None:
    broker = serve({n: body for n, body in enumerate(BODIES) if n not in (4, 5)})
    says(admin, 4, txn_uncommitted="false")  # a filter; of 5 the admin API says nothing
    codes = [one.code for one in read(place_of(broker, admin)) if isinstance(one, Hidden)]
    assert codes == ["live_not_sent", "live_not_given"]


def test_a_connection_that_breaks_goes_on_where_it_ended(serve: Any, admin: AdminServer) -> None:
    broker = serve(dict(enumerate(BODIES)), cut_after=[3, 0, 2])
    assert read(place_of(broker, admin)) == list(enumerate(BODIES))
    starts = [said.subscribe.start_message_id.entryId for said in broker.heard if said.type == BaseCommand.SUBSCRIBE]
    assert starts == [(1 << 64) - 1, 2, 2, 4]


def test_a_slow_broker_is_waited_for(serve: Any, admin: AdminServer) -> None:
    says(admin, 0, txn_uncommitted="false")  # it is there, and it comes
    assert read(place_of(serve(dict(enumerate(BODIES)), slow_seconds=0.4), admin)) == list(enumerate(BODIES))


def test_a_broker_that_stops_to_send_ends_the_range(serve: Any, admin: AdminServer) -> None:
    says(admin, 4, txn_uncommitted="false")
    with pytest.raises(SourceError, match=r"entry 7:4 does not come in 1 s .*a filter may hide it") as told:
        read(place_of(serve({n: BODIES[n] for n in range(4)}), admin))
    assert told.value.reason == "unreachable"


def test_a_ledger_that_was_trimmed_is_no_gap(serve: Any, admin: AdminServer) -> None:
    with pytest.raises(SourceError, match="entry 7:0 is not there any more") as told:
        read(place_of(serve({0: BODIES[0]}, ledger_id=8), admin))
    assert told.value.reason == "not_found"


def test_a_role_that_may_not_read_is_told_at_once(serve: Any, admin: AdminServer) -> None:
    broker = serve(dict(enumerate(BODIES)), refuses=True)
    with pytest.raises(SourceError, match="may not consume") as told:
        read(place_of(broker, admin))
    assert told.value.reason == "permission_denied"
    assert sum(said.type == BaseCommand.SUBSCRIBE for said in broker.heard) == 1


@pytest.mark.parametrize(
    ("listed", "named"),
    [
        (["127.0.0.1:8080"], ()),  # in the cluster's own list
        (["broker-1:8080"], ("127.0.*",)),  # not there, but the user says so
    ],
)
def test_a_redirect_that_is_followed(serve: Any, admin: AdminServer, listed: list[str], named: tuple[str, ...]) -> None:
    admin.says("/admin/v2/brokers", listed)
    owner = serve(dict(enumerate(BODIES)))
    first = serve({}, owner=owner.url)
    first.url = first.url.replace("127.0.0.1", "localhost")
    assert read(place_of(first, admin, broker_hosts=named)) == list(enumerate(BODIES))


@pytest.mark.parametrize("answer", [Answer(body=b'["broker-1:8080"]'), Answer(403, b"")])
def test_a_redirect_elsewhere_is_refused(serve: Any, admin: AdminServer, answer: Answer) -> None:
    admin.answers["/admin/v2/brokers"] = answer
    owner = serve(dict(enumerate(BODIES)))
    first = serve({}, owner=owner.url)
    first.url = first.url.replace("127.0.0.1", "localhost")
    with pytest.raises(SourceError, match=r"names host '127.0.0.1', which is not in .* --broker-host 127.0.0.1"):
        read(place_of(first, admin))
    assert owner.heard == []


def test_single_entries_are_read_by_their_place(serve: Any, admin: AdminServer) -> None:
    place = place_of(serve(dict(enumerate(BODIES))), admin)
    for number in (4, 4, 6, 5, 9, 0):  # again, near, back, far
        body = BODIES[number]
        assert place.read(PATH, address_of(number), address_of(number) + len(body)).tobytes() == body
        assert place.read(PATH, address_of(number) + 3, address_of(number) + 7).tobytes() == body[3:7]
    assert entry_at(address_of(2**34) + 5) == (2**34, 5)


def test_the_pace_is_kept() -> None:
    now, slept = 100.0, list[float]()
    pace = Pace(1000, lambda: now + sum(slept), slept.append)
    for _ in range(5):
        pace.spend(500)
    assert sum(slept) == pytest.approx(2.5)
    assert Live("pulsar://x", "http://x", max_rate=900).shared_by(4).max_rate == 225


def test_a_scan_of_a_live_topic_is_that_of_its_ledger(serve: Any, admin: AdminServer, tmp_path: Path) -> None:
    hidden = {3: "live_marker", 6: "live_held_back"}
    broker = serve({n: body for n, body in enumerate(BODIES) if n not in hidden})
    says(admin, 3, marker_type="10")
    says(admin, 6, txn_uncommitted="true")
    folder = snapshot(tmp_path / "begin", [{"ledgerId": 7, "entries": 0, "size": 0, "offloaded": False}], "7:9", 900)
    rows, rejects, account = scanned(opened(broker, admin, folder))
    put(tmp_path / "objects", encoding.offload(BODIES, managed_ledger="lab/s/persistent/a"))
    others, _, _ = scanned(open_source(str(tmp_path / "objects")))
    location = ("uri", "offset")
    bare = [{name: value for name, value in row.items() if name not in location} for row in rows[7]]
    assert bare == [
        {name: value for name, value in row.items() if name not in location}
        for row in others[7]
        if row["entry_id"] not in hidden
    ]
    assert [row["offset"] for row in rows[7]] == [address_of(row["entry_id"]) for row in rows[7]]
    assert {row["uri"] for row in rows[7]} == {PATH}
    assert [(row["entry_id"], row["scope"], row["code"]) for row in rejects] == [
        (3, "hidden", "live_marker"), (6, "entry", "live_held_back"),
    ]  # fmt: skip
    # The marker is missed by nobody; what is held back counts as an entry that is lost to us.
    assert (account.frames, account.decoded, account.rejected, account.faults, account.hidden) == (9, 8, 1, 0, 1)


def test_a_ledger_that_is_read_in_part_is_not_on_the_books(serve: Any, admin: AdminServer, tmp_path: Path) -> None:
    says(admin, 4, txn_uncommitted="false")
    broker = serve({n: BODIES[n] for n in range(4)})
    folder = snapshot(tmp_path / "begin", [{"ledgerId": 7, "entries": 0, "size": 0, "offloaded": False}], "7:9", 900)
    _, _, account = scanned(opened(broker, admin, folder))
    assert account.unreadable is not None
    assert "entry 7:4 does not come in" in account.unreadable
    copy = PlannedCopy(TOPIC, 7, "live-entries-10", "live", PATH, None, 900, None, None, None, ())
    (row,) = scan_rows([copy], {7: [UnitAccount(frames=3), account]}, "c")
    assert (row["complete"], row["unreadable_units"], row["unreadable"]) == (False, 1, account.unreadable)


def test_what_a_snapshot_lists(serve: Any, admin: AdminServer, tmp_path: Path) -> None:
    ledgers = [
        {"ledgerId": 5, "entries": 4, "size": 44, "offloaded": True},
        {"ledgerId": 7, "entries": 10, "size": 1000, "offloaded": False},
        {"ledgerId": 9, "entries": 0, "size": 0, "offloaded": False},  # open
    ]
    folder = snapshot(tmp_path / "begin", ledgers, "9:2", 300)
    source = opened(serve({}), admin, folder)
    listed = [(one.path, one.size, one.etag) for one in source.list()]
    assert listed == [
        (f"{TOPIC}/5", 44, "entries-4"), (f"{TOPIC}/7", 1000, "entries-10"), (f"{TOPIC}/9", 300, "entries-3"),
    ]  # fmt: skip
    copies = settle(survey(source, take_listing(source)), ClusterRecords({}, {})).copies
    assert [(one.kind, one.topic, one.copy, one.expected_entries) for one in copies] == [
        ("live", TOPIC, f"live-entries-{count}", None) for count in (4, 10, 3)
    ]
    # The topic that could not be asked is not passed over.
    line = {"topic": "persistent://lab/s/b", "status": "failed", "at_ms": 1, "files": [], "note": "may not"}
    (Path(folder) / ".snapshot.jsonl").write_text(json.dumps(line) + "\n")
    errors: list[SourceError] = []
    assert len(list(source.list(errors.append))) == 3
    assert "may not" in str(errors[0])


@pytest.mark.parametrize(("complete", "chosen"), [(True, ["jcloud", "live"]), (False, ["live", "live"])])
def test_a_bucket_gives_what_was_offloaded_and_the_broker_the_rest(
    serve: Any, admin: AdminServer, tmp_path: Path, complete: bool, chosen: list[str]
) -> None:
    put(tmp_path / "objects", encoding.offload(BODIES[:4], managed_ledger="lab/s/persistent/a"), 5)
    ledgers = [{"ledgerId": 5, "entries": 4, "size": 44, "offloaded": complete}, {"ledgerId": 7, "entries": 0}]
    folder = snapshot(tmp_path / "begin", ledgers, "7:9")
    source = opened(serve(dict(enumerate(BODIES))), admin, folder, str(tmp_path / "objects"))
    known = ClusterRecords({}, {5: LedgerRecord(5, TOPIC, encoding.UUID, complete, 4, None, None)})
    inventory = settle(survey(source, take_listing(source)), known)
    assert [one.kind for one in inventory.copies if one.selected] == chosen
    assert "S06" not in {finding.code for finding in inventory.findings}  # a live ledger is no second attempt
    assert source.read(f"{TOPIC}/7", address_of(2), address_of(3)).tobytes() == BODIES[2]


def test_explain_says_why_an_entry_is_not_there(serve: Any, admin: AdminServer, tmp_path: Path) -> None:
    broker = serve({n: body for n, body in enumerate(BODIES) if n != 3})
    says(admin, 3, marker_type="10")
    folder = snapshot(tmp_path / "begin", [{"ledgerId": 7, "entries": 0}], "7:9", 900)
    live = Live(broker.url, admin.url, folder, max_rate=1 << 40, timeout_seconds=1)
    assert explain_entry(broker.url, None, "7:4", False, live).length == len(BODIES[4])
    with pytest.raises(UsageError, match="entry 3 of ledger 7 cannot be shown: a marker of type 10"):
        explain_entry(broker.url, None, "7:3", False, live)


def test_options_that_make_no_sense() -> None:
    assert live_of(Options(source="/folder")) is None
    with pytest.raises(UsageError, match="say --admin-url"):
        live_of(Options(source="pulsar://b"))
    with pytest.raises(UsageError, match="--live pulsar://c: the source names brokers already"):
        live_of(Options(source="pulsar://b", live="pulsar://c", admin_url="http://b"))
    with pytest.raises(UsageError, match="say --admin-url"):
        open_source("pulsar://b")
    with pytest.raises(SourceError, match="say --admin-url"):
        open_source("/tmp").read(PATH, 0, 1)
    with pytest.raises(UsageError, match="name its folder with --admin"):
        list(open_source("pulsar://b", live=Live("pulsar://b", "http://b")).list())
