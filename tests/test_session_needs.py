"""A file that uses Spark says so, and one that does not, does not: whoever collects it sees to that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.session_needs import ROOT, contradictions, needs_spark

SAYS = "NEEDS_SPARK = True\n"


@pytest.mark.parametrize(
    ("uses", "text", "words"),
    [
        (True, SAYS, None),
        (False, "x = 1\n", None),
        (True, "# NEEDS_SPARK = True\n", "needs Spark"),
        (True, "NEEDS_SPARK = False\n", "needs Spark"),
        (False, SAYS, "does not need Spark"),
        (False, f'{SAYS}request.getfixturevalue("spark")\n', None),  # only its run tells
    ],
)
def test_what_files_say_is_held_against_what_they_use(uses: bool, text: str, words: str | None) -> None:
    said = list(contradictions({"tests/a.py": uses}, {"tests/a.py": text}))
    assert [words in one for one in said if words] == ([True] if words else [])
    assert bool(said) == bool(words)


def test_the_scheduler_goes_by_it() -> None:
    assert needs_spark("tests/jobs/test_rerun.py")
    assert not needs_spark("tests/test_counting.py")


@pytest.mark.parametrize(("text", "code"), [("", 4), (SAYS, 0)])
def test_a_file_that_does_not_say_so_is_not_collected(text: str, code: int) -> None:
    """Collected beside the others, without a session being started."""
    file = Path(__file__).with_name(f"test_made_by_session_needs_{len(text)}.py")
    file.write_text(f"{text}\n\ndef test_it(spark):\n    pass\n")
    try:
        argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(file)]
        env = {**os.environ, "PYTEST_ADDOPTS": ""}  # what this run was given may not go with these options
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    finally:
        file.unlink()
    assert done.returncode == code, done.stdout + done.stderr
    assert ("give it a line NEEDS_SPARK = True" in done.stderr) == (code == 4)


def test_what_failed_is_tried_again_without_the_rest_of_its_file(tmp_path: Path) -> None:
    """As CI does; what failed of this file needs no session, and others in it do."""
    (tmp_path / "v" / "cache").mkdir(parents=True)
    failed = "tests/cli/test_at_once.py::test_explain_starts_no_jvm"
    (tmp_path / "v" / "cache" / "lastfailed").write_text(json.dumps({failed: True}))
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--last-failed", "-o", f"cache_dir={tmp_path}"]
    env = {**os.environ, "PYTEST_ADDOPTS": ""}
    done = subprocess.run([*argv, "tests/cli"], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == failed
