"""`make test-matrix` runs this folder, `make test` leaves it out: it takes environments of its own."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("PULSAR_BACKLOG_TEST_MATRIX") else ["test_*.py"]
