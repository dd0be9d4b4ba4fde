"""`forecast` over the audit of the bundled backlog."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

import pytest

from pulsar_backlog.command_line import app
from pulsar_backlog.errors import UsageError
from tests.auditing import Audited

NEEDS_SPARK = True

TOPIC = "persistent://lab/s3/brk-many-pending"


def forecast(audited: Audited, *options: str) -> list[dict[str, object]]:
    out = io.StringIO()
    with redirect_stdout(out):
        app(["forecast", str(audited.out), "--topic", TOPIC, *options], standalone_mode=False)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_what_consumers_and_events_make_of_a_saved_subscription(bundled: Audited) -> None:
    who = ("--subscription", "j-excl-q1-autoackfalse-live", "--type", "Shared", "--consumers", "java 4.2 x 2, python")
    verdict, first, second = forecast(bundled, *who, "--event", "unload")
    assert str(verdict["verdict"]).startswith("After unload: it ")
    assert (first["event"], first["delivered_least"], first["delivered_most"]) == ("connect", 8, 8)
    # Twelve prefixes are too many for one Java client; many-3 has lost its last chunk, and is given up after a minute.
    assert first["acknowledged_undelivered"] == ["many-3"]
    assert (second["event"], second["delivered_most"]) == ("unload", 8)


def test_without_an_event_remedies_are_tried(bundled: Audited) -> None:
    who = ("--subscription", "j-excl-q1-autoackfalse-live", "--type", "Shared", "--consumers", "java 4.2 x 2, python")
    verdict, _connect, *tried = forecast(bundled, *who)
    assert verdict["remedy"] in [row["remedy"] for row in tried] or "None of these frees more" in str(
        verdict["verdict"]
    )
    assert [row["remedy"] for row in tried] == ["unload", "restart"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--subscription", "nobody"), "hold no subscription 'nobody'"),
        (("--subscription", "j-shared-e5-old"), "--type: the type of 'j-shared-e5-old' was not saved"),
        (
            ("--subscription", "j-shared-e5-old", "--type", "Shared", "--broker", "3"),
            "--broker: '3' is none of 4.0, 4.2, 5.0",
        ),
        (("--subscription", "j-shared-e5-old", "--type", "Shared", "--event", "dance"), "no event 'dance'"),
    ],
)
def test_a_mistake_is_one_sentence(bundled: Audited, options: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        forecast(bundled, "--consumers", "java 4.2", *options)
