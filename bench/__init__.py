"""Measures the program against plain ways of doing the same, on backlogs it makes itself."""

import os
import sys
from pathlib import Path

_LIB = str(Path(__file__).parents[1] / "lib")
if _LIB not in sys.path:  # `python -m bench` in a checkout, as `make bench` runs it; processes of its own inherit it
    sys.path.insert(0, _LIB)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_LIB, os.environ.get("PYTHONPATH"))))
