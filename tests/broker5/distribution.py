"""The runtime jars of a Pulsar 5.0.0-M1 broker and its clients: fetched once from Maven Central, checked, in `.cache/`.

No server distribution of it is published, so its jars are resolved with the Ivy that Spark brings. `jars.sha256` names
each; `python -m tests.broker5.distribution` fetches them ahead of the tests (`make test-broker5`). All of them run on
the Java of the other tests.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

VERSION = "5.0.0-M1"
CACHE = Path(__file__).parents[2] / ".cache" / "broker5"
LOCK = Path(__file__).with_name("jars.sha256")
_TIMEOUT_SECONDS = 900

_SETTINGS = """<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir="{cache}"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>
"""
_WANTED = """<ivy-module version="2.0"><info organisation="tests" module="wanted"/>
<configurations defaultconfmapping="default->runtime,master"><conf name="default"/></configurations>
<dependencies>
<dependency org="org.apache.pulsar" name="pulsar-broker" rev="{version}"/>
<dependency org="org.apache.pulsar" name="pulsar-client-v5" rev="{version}"/>
</dependencies></ivy-module>
"""


def jars() -> Path:
    """The folder of the jars, fetched if need be.

    Raises:
        RuntimeError: they cannot be had, or are not the files they should be.
    """
    wanted = dict(reversed(line.split("  ")) for line in LOCK.read_text().splitlines())
    home = CACHE / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    if not home.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            folder = _resolved(Path(work))
            found = {one.name: _sha256(one) for one in folder.iterdir()}
            if found != wanted:
                odd = sorted({name for name, _ in found.items() ^ wanted.items()})
                raise RuntimeError(f"jars of Pulsar {VERSION} are not those of {LOCK.name}: {', '.join(odd[:5])}")
            for nar in folder.glob("*.nar"):  # a jar by another name
                nar.rename(nar.with_suffix(".jar"))
            folder.rename(home)
    return home


def _resolved(work: Path) -> Path:
    (work / "settings.xml").write_text(_SETTINGS.format(cache=work / "ivy"))
    (work / "wanted.xml").write_text(_WANTED.format(version=VERSION))
    command = [
        *("java", "-cp", str(Path(pyspark.__file__).parent / "jars" / "*"), "org.apache.ivy.Main"),
        *("-settings", str(work / "settings.xml"), "-ivy", str(work / "wanted.xml")),
        *("-retrieve", str(work / "jars" / "[artifact]-[revision](-[classifier]).[ext]")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    if done.returncode or not (work / "jars").is_dir():
        said = [line for line in (done.stdout + done.stderr).splitlines() if "::" not in line and line.strip(". \t")]
        raise RuntimeError(f"Pulsar {VERSION} could not be fetched from Maven Central: {' '.join(said[-3:])}")
    shutil.rmtree(work / "ivy", ignore_errors=True)
    return work / "jars"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


if __name__ == "__main__":
    sys.stdout.write(f"{jars()}\n")
