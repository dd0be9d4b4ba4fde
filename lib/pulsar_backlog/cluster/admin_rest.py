"""The admin REST API of a live cluster. Reads only.

| what | path under `/admin/v2`, V1 topics under `/admin` |
|---|---|
| tenants, namespaces of one | `tenants`, `namespaces/{tenant}` |
| topics of a namespace | `persistent/{namespace}`, with `/partitioned` those that have partitions |
| a topic | `persistent/{namespace}/{topic}/{internalStats, internal-info, stats, partitions, ...}` |
| scalable topics of a namespace (5.0), the layout of one | `scalable/{namespace}`, `scalable/{namespace}/{topic}` |
| schemas of a topic | `schemas/{tenant}/{namespace}/{topic}/schemas` |
| policies | `namespaces/{namespace}`; those in force for a topic: `.../{topic}/{retention, ...}?applied=true` |

`internalStats` and `stats` make the owning broker load the topic, as a client that connects does; `internal-info` reads
the metadata store.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-broker/src/main/java/org/apache/pulsar/broker/admin/v2/PersistentTopics.java
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from typing import TypeVar

from pulsar_backlog.cluster.admin_http import AdminError, AdminHttp, segment
from pulsar_backlog.cluster.documents import is_topic
from pulsar_backlog.wire.names import DOMAINS, SCALABLE_SCHEME, is_scalable_topic

_T = TypeVar("_T")
_DOMAIN = "persistent://"
_WILDCARD = re.compile(r"[*?\[]")
_PARTITION = re.compile(r"-partition-(0|[1-9]\d*)\Z", re.ASCII)


@dataclass(frozen=True)
class TopicName:
    """Parts of the full name of a persistent topic.

    Attributes:
        namespace: `tenant/namespace`, or `tenant/cluster/namespace` of V1.
        local: the rest; may hold anything.
    """

    namespace: str
    local: str

    @property
    def path(self) -> str:
        """Where the admin API keeps it."""
        return f"{_base(self.namespace)}/{segment(self.local)}"


def parse_topic(topic: str) -> TopicName:
    """Parts of a full topic name.

    Raises:
        ValueError: it is not the name of a persistent topic.
    """
    parts = topic.removeprefix(_DOMAIN).split("/", 3)
    if not topic.startswith(_DOMAIN) or len(parts) < 3 or not all(parts):
        raise ValueError(f"not the full name of a persistent topic: {topic!r}")
    return TopicName("/".join(parts[:-1]), parts[-1])


def _base(namespace: str) -> str:
    root = "/admin/persistent" if namespace.count("/") == 2 else "/admin/v2/persistent"
    return "/".join([root, *map(segment, namespace.split("/"))])


def _scalable(namespace: str) -> str:
    return "/".join(["/admin/v2/scalable", *map(segment, namespace.split("/"))])


def _split_scalable(topic: str) -> tuple[str, str]:
    """Namespace and local name of a scalable topic."""
    tenant, namespace, local = topic.removeprefix(SCALABLE_SCHEME).split("/", 2)
    return f"{tenant}/{namespace}", local


class AdminRest:
    """What a live cluster says. Every method raises `AdminError` when it says nothing."""

    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def version(self) -> str:
        """Of the broker that answers."""
        return self._http.request("GET", "/admin/v2/brokers/version").decode(errors="replace").strip()

    def time_ms(self) -> int | None:
        """The clock of the broker that answers, to the second before; None where it tells none."""
        date = self._http.headers("/admin/v2/brokers/version").get("Date")
        try:
            return int(parsedate_to_datetime(date).timestamp() * 1000) if date else None
        except ValueError:
            return None

    def clusters(self) -> list[str]:
        """Names of the clusters of the instance."""
        return self._names("/admin/v2/clusters")

    def brokers(self) -> list[str]:
        """`host:port` of the web services of the cluster's brokers; needs a superuser."""
        return self._names("/admin/v2/brokers")

    def settings(self) -> Mapping[str, object]:
        """The settings with which the answering broker runs; needs a superuser."""
        return self._object("/admin/v2/brokers/configuration/runtime")

    def namespaces(self, tenant: str) -> list[str]:
        """Full names of a tenant's namespaces, those of V1 among them."""
        return self._names(f"/admin/v2/namespaces/{segment(tenant)}")

    def tenants(self) -> list[str]:
        """All tenants; needs a superuser."""
        return self._names("/admin/v2/tenants")

    def topics(self, namespace: str) -> list[str]:
        """Full names of a namespace's persistent topics, each partition for itself; system topics left out."""
        return self._names(_base(namespace))

    def partitioned_topics(self, namespace: str) -> list[str]:
        """Full names of a namespace's persistent topics that have partitions."""
        return self._names(f"{_base(namespace)}/partitioned")

    def scalable_topics(self, namespace: str) -> list[str]:
        """Full names of a namespace's scalable topics; none where the broker knows no such topics (before 5.0)."""
        try:
            return self._names(_scalable(namespace)) if namespace.count("/") == 1 else []
        except AdminError as error:
            if error.status in (404, 405):
                return []
            raise

    def layout(self, topic: str) -> bytes:
        """The layout of a scalable topic: the bytes of one JSON object, as they came. Makes no topic."""
        namespace, local = _split_scalable(topic)
        content, _ = self._fetch(f"{_scalable(namespace)}/{segment(local)}", None, dict)
        return content

    def namespace_policies(self, namespace: str) -> Mapping[str, object]:
        """All policies of a namespace; may hold secrets of offloaders."""
        root = "/admin/namespaces" if namespace.count("/") == 2 else "/admin/v2/namespaces"
        return self._object("/".join([root, *map(segment, namespace.split("/"))]))

    def document(self, topic: str, kind: str, query: Mapping[str, str] | None = None) -> bytes:
        """A document about a topic, such as `internalStats`: the bytes of one JSON object, as they came."""
        content, _ = self._fetch(f"{parse_topic(topic).path}/{kind}", query, dict)
        return content

    def object_of(self, topic: str, kind: str, query: Mapping[str, str] | None = None) -> Mapping[str, object]:
        """A document about a topic, parsed."""
        return self._object(f"{parse_topic(topic).path}/{kind}", query)

    def entry_headers(self, topic: str, ledger_id: int, entry_id: int) -> Mapping[str, str]:
        """What is said of one entry beside its payload."""
        return self._http.headers(f"{parse_topic(topic).path}/ledger/{ledger_id}/entry/{entry_id}")

    def schemas(self, topic: str) -> Mapping[str, object]:
        """All versions of the schemas of a topic that is no partition; makes no topic."""
        name = parse_topic(topic)
        root = "/admin/schemas" if name.namespace.count("/") == 2 else "/admin/v2/schemas"
        return self._object("/".join([root, *map(segment, name.namespace.split("/")), segment(name.local), "schemas"]))

    def policy(self, topic: str, kind: str) -> object:
        """A policy that is in force for a topic, such as `retention`; None when none is set anywhere."""
        path = f"{parse_topic(topic).path}/{kind}"
        content = self._http.request("GET", path, {"applied": "true"})
        return self._parsed(path, content) if content.strip() else None

    def _object(self, path: str, query: Mapping[str, str] | None = None) -> Mapping[str, object]:
        _, body = self._fetch(path, query, dict)
        return body

    def _names(self, path: str) -> list[str]:
        _, body = self._fetch(path, None, list)
        return [name for name in body if isinstance(name, str)]

    def _fetch(self, path: str, query: Mapping[str, str] | None, kind: type[_T]) -> tuple[bytes, _T]:
        content = self._http.request("GET", path, query)
        body = self._parsed(path, content)
        if not isinstance(body, kind):
            raise AdminError(
                self._http.url + path, "failed", f"answered JSON that is not a {kind.__name__}: check --admin-url"
            )
        return content, body

    def _parsed(self, path: str, content: bytes) -> object:
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            at = f" at character {error.pos} of {len(content)} bytes" if isinstance(error, json.JSONDecodeError) else ""
            detail = (
                f"the answer is not whole JSON{at}: a proxy may have cut it off; try again or ask a broker directly"
            )
            raise AdminError(self._http.url + path, "failed", detail) from None


def wanted_topics(rest: AdminRest, globs: Iterable[str]) -> list[str]:
    """Full names of the topics that any glob matches, sorted; each partition of a matching topic for itself.

    Only the namespaces that a glob can reach are listed, so that a role that sees one namespace can ask for it.
    """
    topics: set[str] = set()
    for glob in _globs_of(globs, _DOMAIN):
        for namespace in _reachable(rest, glob):
            partitioned = set(rest.partitioned_topics(namespace))
            topics.update(topic for topic in rest.topics(namespace) if _matches(topic, glob, partitioned))
    return sorted(topic for topic in topics if is_topic(topic))


def wanted_scalable_topics(rest: AdminRest, globs: Iterable[str]) -> list[str]:
    """Full names of the scalable topics that any glob matches, sorted."""
    topics: set[str] = set()
    for glob in _globs_of(globs, SCALABLE_SCHEME):
        for namespace in _reachable(rest, glob):
            names = (name for name in rest.scalable_topics(namespace) if is_scalable_topic(name))
            topics.update(name for name in names if fnmatchcase(name.removeprefix(SCALABLE_SCHEME), glob))
    return sorted(topics)


def _globs_of(globs: Iterable[str], domain: str) -> list[str]:
    """Globs that may match names of a domain, without it; those that name another domain may not."""
    bare = (glob.removeprefix(domain) for glob in globs)
    return list(dict.fromkeys(glob for glob in bare if not glob.startswith(DOMAINS)))


def _matches(topic: str, glob: str, partitioned: set[str]) -> bool:
    whole = _PARTITION.sub("", topic)
    names = (topic, whole) if whole in partitioned else (topic,)
    return any(fnmatchcase(name.removeprefix(_DOMAIN), glob) for name in names)


def _reachable(rest: AdminRest, glob: str) -> list[str]:
    """Namespaces whose topics a glob may match: `*` also matches slashes, so only literal first parts choose."""
    wildcard = _WILDCARD.search(glob)
    fixed = (glob[: wildcard.start()] if wildcard else glob).split("/")[:-1]
    tenants = fixed[:1] or rest.tenants()
    named = "/".join(fixed[:2]) if len(fixed) >= 2 else None
    reachable = []
    for tenant in tenants:
        try:
            reachable += rest.namespaces(tenant)
        except AdminError as error:
            # Whoever may read a namespace need not be allowed to list those of the tenant.
            if named is None or error.reason != "permission_denied":
                raise
            reachable += ["/".join(fixed[:3])] if len(fixed) == 3 else [named]
    return [name for name in reachable if named is None or name == named or name.startswith(f"{named}/")]
