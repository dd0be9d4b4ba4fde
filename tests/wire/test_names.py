"""Managed-ledger names, as a 4.0.8 broker wrote them on offloaded objects, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.wire.names import managed_ledger_of_topic, scalable_topic_of, topic_of_managed_ledger

# Left: topics made with pulsar-admin 4.0.8. Right: `managedledgername` on the objects the broker offloaded.
FROM_A_BROKER = [
    ("persistent://lab/s3/plain-none", "lab/s3/persistent/plain-none"),
    ("persistent://lab/s3/part-chunk-partition-1", "lab/s3/persistent/part-chunk-partition-1"),
    ("persistent://lab/s3/UPPER.dot_under-dash", "lab/s3/persistent/UPPER.dot_under-dash"),
    ("persistent://lab/s3/sp ace", "lab/s3/persistent/sp+ace"),
    ("persistent://lab/s3/pl+us", "lab/s3/persistent/pl%2Bus"),
    ("persistent://lab/s3/st*ar", "lab/s3/persistent/st*ar"),
    ("persistent://lab/s3/til~de", "lab/s3/persistent/til%7Ede"),
    ("persistent://lab/s3/per%cent", "lab/s3/persistent/per%25cent"),
    ("persistent://lab/s3/enc%2Fslash", "lab/s3/persistent/enc%252Fslash"),
    ("persistent://lab/s3/hash#tag", "lab/s3/persistent/hash%23tag"),
    ("persistent://lab/s3/q?mark", "lab/s3/persistent/q%3Fmark"),
    ("persistent://lab/s3/col:on", "lab/s3/persistent/col%3Aon"),
    ("persistent://lab/s3/semi;com,ma", "lab/s3/persistent/semi%3Bcom%2Cma"),
    ("persistent://lab/s3/ünï-✓", "lab/s3/persistent/%C3%BCn%C3%AF-%E2%9C%93"),
    ('persistent://lab/s3/[br]{ace}|\\^`"<>', "lab/s3/persistent/%5Bbr%5D%7Bace%7D%7C%5C%5E%60%22%3C%3E"),
]
# Left: segments that a 5.0.0-M1 broker named. Right: `managedledgername` on its objects, and folders of its MapFiles.
SEGMENTS = [
    ("segment://acme/shop/clicks/4000-9fff-5", "acme/shop/segment/clicks/4000-9fff-5"),
    # M1 takes the path of the request, still encoded, as the name.
    ("segment://acme/files/eu%2Fboard%20one/0000-ffff-0", "acme/files/segment/eu%252Fboard%2520one/0000-ffff-0"),
    # By rule: a scalable topic may have slashes and spaces in its name.
    ("segment://t/ns/a/b c/0000-7fff-10", "t/ns/segment/a%2Fb+c/0000-7fff-10"),
    # By rule: a scalable topic that is called as the domain.
    ("segment://t/ns/persistent/0000-7fff-0", "t/ns/segment/persistent/0000-7fff-0"),
]
BY_RULE = [
    # V1: cluster as a third part, and a slash in the local name is possible.
    ("persistent://t/us-west/ns/name", "t/us-west/ns/persistent/name"),
    ("persistent://t/us-west/ns/a/b", "t/us-west/ns/persistent/a%2Fb"),
    # A local name that looks like the domain.
    ("persistent://t/ns/persistent", "t/ns/persistent/persistent"),
]


@pytest.mark.parametrize(("topic", "managed_ledger"), FROM_A_BROKER + SEGMENTS + BY_RULE)
def test_both_directions(topic: str, managed_ledger: str) -> None:
    assert managed_ledger_of_topic(topic) == managed_ledger
    assert topic_of_managed_ledger(managed_ledger) == topic


@pytest.mark.parametrize(
    "name",
    [
        "",
        "lab",
        "lab/s3/plain",  # no domain
        "lab/s3/non-persistent/plain",  # never stored
        "lab/s3/segment/plain",  # a scalable topic has no ledgers of its own
        "lab/s3/segment/plain/0000-FFFF-1",  # hexadecimal digits are lower-case
        "lab/s3/segment/plain/0000-ffff",  # no id
        "lab/s3/segment/plain/0000-ffff-01",
        "lab/s3/segment//0000-ffff-1",
        "lab/s3/topic/plain/0000-ffff-1",
        "lab/s3/persistent/",
        "/s3/persistent/x",
        "a/b/c/d/persistent/x",
        "lab/s3/persistent/50%off",  # malformed escape
        "lab/s3/persistent/%FF",  # not UTF-8
        "lab/s3/persistent/a%2Fb",  # would read as a V1 topic
        "la b/s3/persistent/x",
        "../s3/persistent/<x>/y",
    ],
)
def test_nonsense_managed_ledger_names(name: str) -> None:
    with pytest.raises(ValueError):
        topic_of_managed_ledger(name)


@pytest.mark.parametrize(
    "topic",
    ["", "plain", "lab/s3/plain", "persistent://lab/plain", "persistent://lab/s3/", "persistent://lab//x",
     "non-persistent://lab/s3/x", "persistent://l b/s3/x", "persistent://lab/s3/\ud800",
     "topic://lab/s3/x", "segment://lab/s3/x", "segment://lab/s3/0000-ffff-1", "segment://lab/s3/x/0000-ffff"],
)  # fmt: skip
def test_nonsense_topics(topic: str) -> None:
    with pytest.raises(ValueError):
        managed_ledger_of_topic(topic)


_SPACE = st.text("abzAZ019-=:._", min_size=1, max_size=8)
_LOCAL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
_ODD_NAMES = r"[a-z%/]{0,4}/[a-z]{1,3}/persistent/[a-z%0-9+]{0,6}"


@given(spaces=st.lists(_SPACE, min_size=2, max_size=3), local=_LOCAL)
def test_round_trip(spaces: list[str], local: str) -> None:
    topic = "persistent://" + "/".join([*spaces, local.replace("/", "|")])
    name = managed_ledger_of_topic(topic)
    assert topic_of_managed_ledger(name) == topic
    assert name.isascii()


@given(st.text(max_size=60) | st.from_regex(_ODD_NAMES, fullmatch=True))
def test_any_text_is_a_topic_or_a_value_error(name: str) -> None:
    try:
        topic = topic_of_managed_ledger(name)
    except ValueError:
        return
    assert topic_of_managed_ledger(managed_ledger_of_topic(topic)) == topic


@pytest.mark.parametrize(
    ("topic", "scalable"),
    [
        ("segment://acme/shop/clicks/4000-9fff-5", "topic://acme/shop/clicks"),
        ("segment://t/ns/a/b c/0000-7fff-10", "topic://t/ns/a/b c"),
        ("persistent://acme/shop/legacy-partition-0", None),
        ("topic://acme/shop/clicks", None),
        ("segment://acme/shop/clicks", None),
    ],
)
def test_scalable_topic(topic: str, scalable: str | None) -> None:
    assert scalable_topic_of(topic) == scalable
