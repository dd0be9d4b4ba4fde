"""`python -m bench consumers CORPUS`: how well predictions for several consumers agree with recorded runs.

CORPUS is a folder with `runs/*.json.gz`: cells, each with its settings and its repeats on one broker. A setting is one
cell on one broker. `agreeing` are runs whose outcome is among those predicted; `exceptions` are runs that contradict
what is said to be certain; `sharp` are settings with one predicted outcome, of those whose repeats all agree.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from bench.consumer_cells import Cell, read_cells
from pulsar_backlog.chunks.dispatch.outcomes import Prediction, predict
from pulsar_backlog.chunks.dispatch.play import play

COLUMNS = ("settings", "runs", "agreeing", "exceptions", "contained", "agreed", "sharp")


def predicted(cell: Cell) -> Prediction | None:
    """What the model says; None, with the reason on the terminal, where it cannot."""
    try:
        if cell.setting is not None:
            return predict(cell.setting, play)
        fault = cell.fault
    except Exception as error:  # one cell that breaks the model is a cell not predicted, not the end of the score
        fault = f"{type(error).__name__}: {error}"
    print(f"{cell.name}: not played: {fault}", file=sys.stderr)
    return None


def score(cell: Cell, prediction: Prediction | None) -> Counter[str]:
    """The counts of one setting."""
    agreed = int(len(set(cell.outcomes)) == 1)
    counts = Counter(settings=1, runs=len(cell.outcomes), agreed=agreed)
    if prediction is None:
        return counts
    certain = prediction.certain
    agreeing = sum(outcome in prediction.outcomes for outcome in cell.outcomes)
    contained = int(agreeing == len(cell.outcomes))
    counts.update(
        agreeing=agreeing,
        exceptions=sum(not certain.holds_in(outcome) for outcome in cell.outcomes),
        contained=contained,
        sharp=int(agreed and contained and prediction.sharp),
    )
    return counts


def show(cell: Cell, prediction: Prediction) -> None:
    """What was observed and not predicted, and what was predicted most."""
    print(f"{cell.name}: {len(set(cell.outcomes))} observed, {len(prediction.outcomes)} predicted")
    for outcome in sorted(set(cell.outcomes) - prediction.outcomes.keys(), key=str):
        print(f"    observed {cell.outcomes.count(outcome)}: {outcome}")
    for outcome, seeds in sorted(prediction.outcomes.items(), key=lambda item: -item[1])[:4]:
        print(f"    predicted {seeds}: {outcome}")


def main(argv: list[str]) -> int:
    """Print the score."""
    parser = argparse.ArgumentParser(prog="python -m bench consumers", description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", default="", help="cells whose name holds this")
    parser.add_argument("--verbose", action="store_true", help="name the settings that are not as predicted")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(argv)
    rows: dict[str, Counter[str]] = {}
    began = time.monotonic()
    for cell in read_cells(options.corpus, options.only):
        prediction = predicted(cell)
        counts = score(cell, prediction)
        rows.setdefault(cell.scenario, Counter()).update(counts)
        if options.verbose and prediction and (not counts["contained"] or counts["sharp"] < counts["agreed"]):
            show(cell, prediction)
    total: Counter[str] = sum(rows.values(), Counter())
    if options.json:
        scenarios = {name: {column: row[column] for column in COLUMNS} for name, row in sorted(rows.items())}
        print(json.dumps({**{column: total[column] for column in COLUMNS}, "scenarios": scenarios}, indent=1))
    else:
        print(f"{'scenario':<9}" + "".join(f"{column:>12}" for column in COLUMNS))
        for name, row in [*sorted(rows.items()), ("all", total)]:
            print(f"{name:<9}" + "".join(f"{row[column]:>12}" for column in COLUMNS))
        share = total["sharp"] / total["agreed"] if total["agreed"] else 0
        print(f"sharp in {share:.1%} of the settings whose repeats agree; {time.monotonic() - began:.0f} s")
    return 1 if total["exceptions"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
