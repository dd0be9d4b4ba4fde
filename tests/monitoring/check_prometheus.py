"""Numbers, alert rules and a scrape by Debian's Prometheus: `make test-monitoring`, which installs nothing itself."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from pyspark.sql import SparkSession

from tests.auditing import copy_ledgers, run_audit

ROOT = Path(__file__).parents[2]
RULES = ROOT / "conf" / "monitoring" / "alerts.yml"
BROKEN, HEALTHY = 5, 267
WAIT_SECONDS = 60

Ask = Callable[[str], list[dict[str, object]]]


def tool(name: str, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([name, *words], input=text, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def numbers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an audit, and of the same once more with nothing new to do."""
    root = tmp_path_factory.mktemp("metrics")
    path = root / "served" / "pulsar_backlog.prom"
    path.parent.mkdir()
    source = copy_ledgers(root / "source", [BROKEN, HEALTHY])
    assert run_audit(source, root / "out", metrics=str(path)).exit_code == 1
    first = path.read_text()
    assert run_audit(source, root / "out", metrics=str(path), fail_on="never").exit_code == 99
    again = path.read_text()
    assert 'audit_exit_code{cluster="default"} 99.0' in again
    assert [line.split(" ")[0] for line in again.splitlines()] == [line.split(" ")[0] for line in first.splitlines()]
    return path


def test_promtool_has_nothing_to_say(numbers: Path) -> None:
    checked = tool("promtool", "check", "metrics", text=numbers.read_text())
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stderr
    rules = tool("promtool", "check", "rules", str(RULES))
    assert rules.returncode == 0, rules.stderr + rules.stdout


@pytest.fixture
def prometheus(numbers: Path, tmp_path: Path) -> Iterator[Ask]:
    """A real one on loopback that scrapes the file and evaluates our rules each second."""
    handler = partial(_Quiet, directory=str(numbers.parent))
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as served,
        socket.create_server(("127.0.0.1", 0)) as free,
        (tmp_path / "log").open("w") as log,
    ):
        port = free.getsockname()[1]
        threading.Thread(target=served.serve_forever, daemon=True).start()
        shutil.copy(RULES, tmp_path / "alerts.yml")
        (tmp_path / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            "rule_files: [alerts.yml]\n"
            "scrape_configs:\n"
            f"  - {{job_name: audit, metrics_path: /{numbers.name}, fallback_scrape_protocol: PrometheusText0.0.4, "
            f"static_configs: [{{targets: ['127.0.0.1:{served.server_port}']}}]}}\n"
        )
        free.close()
        config = tmp_path / "prometheus.yml"
        if tool("promtool", "check", "config", str(config)).returncode:  # before version 3 there is no fallback
            config.write_text(config.read_text().replace("fallback_scrape_protocol: PrometheusText0.0.4, ", ""))
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL, stderr=log,
        )  # fmt: skip
        try:
            yield partial(_ask, port)
        finally:
            process.terminate()
            process.wait(30)
            served.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    extensions_map: ClassVar[dict[str, str]] = {".prom": "text/plain; version=0.0.4"}

    def log_message(self, *_: object) -> None:
        pass


def _ask(port: int, query: str) -> list[dict[str, object]]:
    """The answer to a query, once there is one."""
    until = time.monotonic() + WAIT_SECONDS
    url = f"http://127.0.0.1:{port}/api/v1/query?{urlencode({'query': query})}"
    while time.monotonic() < until:
        try:
            with urlopen(url, timeout=5) as answer:
                found = json.load(answer)["data"]["result"]
        except OSError:
            found = []
        if found:
            return list(found)
        time.sleep(0.3)
    raise AssertionError(f"no answer to {query}")


def test_a_real_prometheus_scrapes_the_file_and_alerts(prometheus: Ask) -> None:
    (lost,) = prometheus("sum(pulsar_backlog_topic_lost_messages)")
    assert float(lost["value"][1]) > 0  # type: ignore[index]
    topics = prometheus("pulsar_backlog_topic_lost_messages > 0")
    assert {row["metric"]["topic"] for row in topics} == {"persistent://lab/s3/brk-missing"}  # type: ignore[index]
    alerts = prometheus('ALERTS{alertname="PulsarBacklogNewErrors"}')
    assert alerts[0]["metric"]["alertstate"] == "firing"  # type: ignore[index]
