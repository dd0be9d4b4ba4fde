"""`decode`: which schemas the messages of topics are read by, and where those are found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from pulsar_backlog.cluster.access import read_access
from pulsar_backlog.cluster.admin_http import AdminError, AdminHttp
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import Options
from pulsar_backlog.schemas.documents import versions_in
from pulsar_backlog.schemas.saved import saved_versions, unpartitioned
from pulsar_backlog.schemas.values import SchemaInfo, TopicSchemas

WAYS = "schema, schema:VERSION, json, text, bytes or avro-with:FILE"
_WITHOUT_SCHEMA = {"json": SchemaInfo("JSON"), "text": SchemaInfo("STRING"), "bytes": SchemaInfo("BYTES")}
Stored: TypeAlias = Callable[[str], Mapping[int, SchemaInfo]]
"""Schemas of a topic by version."""
_AVRO_WITH, _VERSION = "avro-with:", "schema:"


def schemas_for(
    decode: bool | str, topics: Iterable[str | None], options: Options, stored: Stored | None = None
) -> TopicSchemas | None:
    """The schemas that messages of topics are decoded by; None where they are not to be.

    Args:
        decode: True or `schema`: by their topic's schemas, as the newest of them; `schema:3`: as version 3; or `json`,
            `text`, `bytes`, `avro-with:FILE`, whatever schema they name.
        topics: full names; None of ledgers that nothing names.
        options: of the source; they say where schemas are.
        stored: gives the schemas of a topic that the source itself holds.

    Raises:
        UsageError: it is no such way, no schema is known, or the topics have different ones.
    """
    if decode is False or decode == "":
        return None
    way = "schema" if decode is True else decode
    if way in _WITHOUT_SCHEMA:
        return TopicSchemas({}, every=_WITHOUT_SCHEMA[way])
    if way.startswith(_AVRO_WITH):
        return TopicSchemas({}, every=_avro_file(way.removeprefix(_AVRO_WITH)))
    number = way.removeprefix(_VERSION)
    if way != "schema" and not (way.startswith(_VERSION) and number.isdecimal()):
        raise UsageError(f"decode {way!r} is none of {WAYS}")
    schemas = _of_topics({unpartitioned(topic) for topic in topics if topic is not None}, options, stored)
    if way == "schema":
        return schemas
    if int(number) not in schemas.versions:
        raise UsageError(f"decode {way!r}: known versions are {', '.join(map(str, sorted(schemas.versions)))}")
    return replace(schemas, reader=int(number))


def _avro_file(place: str) -> SchemaInfo:
    try:
        data = Path(place).expanduser().read_bytes()
        json.loads(data)
    except OSError as error:
        raise UsageError(f"avro-with: {place}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"avro-with: {place} is not JSON") from None
    return SchemaInfo("AVRO", data)


def _of_topics(topics: set[str], options: Options, stored: Stored | None) -> TopicSchemas:
    by_topic = {topic: _versions(topic, options, stored) for topic in sorted(topics)}
    without = [topic for topic, versions in by_topic.items() if not versions]
    if without or not by_topic:
        raise UsageError(
            f"no schema of {without[0] if without else 'any topic'} is known: name a folder of schemas (schemas), "
            "saved state that has them (admin), files of bookies that do, or a broker's web service (admin_url); "
            "or decode as json, text, bytes or avro-with:FILE"
        )
    (first, versions), *others = by_topic.items()
    other = next((topic for topic, own in others if own != versions), None)
    if other is not None:
        raise UsageError(f"{first} and {other} have different schemas: decode one topic at a time")
    return TopicSchemas(versions)


def _versions(topic: str, options: Options, stored: Stored | None) -> dict[int, SchemaInfo]:
    for folder in (options.schemas, options.admin):
        versions = saved_versions(folder, topic) if folder is not None else {}
        if versions:
            return versions
    of_topic = stored(topic) if stored is not None else {}
    if of_topic:
        return dict(of_topic)
    return _live_versions(topic, options) if options.admin_url is not None else {}


def _live_versions(topic: str, options: Options) -> dict[int, SchemaInfo]:
    token, ca, certificate, key = (
        None if place is None else Path(place)
        for place in (options.token_file, options.ca_file, options.cert_file, options.key_file)
    )
    access = read_access(
        token, ca, certificate, key, float(options.timeout_seconds or 30), os.environ,
        token_without_tls=options.token_without_tls is True, broker_hosts=options.broker_host or (),
    )  # fmt: skip
    with closing(AdminHttp(options.admin_url or "", access)) as http:
        try:
            return versions_in(AdminRest(http).schemas(topic)) or {}
        except AdminError as error:
            if error.reason == "not_found":
                return {}
            raise
