"""What docs/verdicts.md says of flags and clients, by the models, for every short log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import pytest

from pulsar_backlog.chunks.clients.settings import Profile
from pulsar_backlog.chunks.passes import client_picks
from tests.chunks.build import only, rows
from tests.chunks.clients.logs import consume, delivered, log, settings

OLDER: tuple[Profile, ...] = ("J-OLD", "C-OLD", "C-330", "C-300", "G-OLD")
NEWER: tuple[Profile, ...] = ("J-NEW", "C-NEW", "G-NEW")
DOC = (Path(__file__).parents[3] / "docs" / "verdicts.md").read_text()


def row_of(flag: str) -> str:
    (line,) = (line for line in DOC.splitlines() if line.startswith(f"| `{flag}` |"))
    return line


def whole_logs() -> Iterator[tuple[str, frozenset[str]]]:
    """Every order of up to five chunks of one message of three that is whole, with its flags."""
    for length in (3, 4, 5):
        for ids in product(range(3), repeat=length):
            text = " ".join(map(str, ids))
            publication = only(rows(text, 3))
            if publication.state == "whole":
                yield text, frozenset(publication.flags)


def gets(profile: Profile, text: str) -> bool:
    """Whether the client delivers the message, at least once."""
    return bool(delivered(consume(log(" ".join(f"A{one}" for one in text.split())), settings(profile))[1]))


@pytest.mark.parametrize("flag", ["repeated_prefix", "overlap"])
def test_newer_clients_deliver_what_is_repeated_where_one_pass_runs_to_the_end(flag: str) -> None:
    lost = set()
    for text, flags in whole_logs():
        if flag not in flags:
            continue
        runs_through = next(client_picks(rows(text, 3), 3), None) is not None
        for profile in NEWER:
            assert gets(profile, text) is runs_through, (profile, text)
        if not runs_through:
            lost.add(text)
    assert ("0 1 0 2" in lost) is (flag == "repeated_prefix")
    assert lost
    assert "0 1 0 2" in row_of("repeated_prefix")
    assert "no chunk after the new start is missing" in row_of("repeated_prefix")
    assert "the same" in row_of("overlap")


def test_older_clients_lose_what_is_begun_again_once() -> None:
    for text, flags in whole_logs():
        if flags == {"repeated_prefix"} and next(client_picks(rows(text, 3), 3), None) and text[:3] == "0 1":
            assert not any(gets(profile, text) for profile in OLDER), text
    # They drop the second chunk 0 as well, so the third one opens again.
    assert all(gets(profile, "0 0 0 1 2") for profile in OLDER)


def between(first: list[str], second: list[str]) -> Iterator[list[str]]:
    """Every way in which two runs of chunks can lie in a log."""
    for places in combinations(range(len(first) + len(second)), len(first)):
        left, right = iter(first), iter(second)
        yield [next(left) if at in places else next(right) for at in range(len(first) + len(second))]


def test_who_loses_a_whole_message_by_a_reused_uuid() -> None:
    """A is another publication under the uuid of a, which is whole."""
    interleaved_lost: dict[Profile, int] = dict.fromkeys(NEWER, 0)
    for count in (1, 2):
        for words in between([f"A{at}" for at in range(count)], ["a0", "a1", "a2"]):
            own = [at for at, word in enumerate(words) if word[0] == "a"]
            apart = own[-1] - own[0] == 2
            for profile in (*OLDER, *NEWER):
                lost = own not in delivered(consume(log(" ".join(words)), settings(profile))[1])
                if apart:
                    # Newer ones begin anew; older ones drop both where the other is unfinished before it.
                    assert lost is (profile in OLDER and own[0] > 0), (profile, words)
                elif profile in NEWER:
                    interleaved_lost[profile] += lost
    assert all(interleaved_lost.values())
    said = row_of("uuid_reused")
    assert "unfinished" in said
    assert "every client" in said
    assert "between" in said
