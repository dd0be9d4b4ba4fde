"""Goals and what was measured, as lines for people and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.measuring import Timing


@dataclass(frozen=True)
class Goal:
    """One line of the table.

    Attributes:
        name: what was measured.
        value: what came out, not a number where it could not be measured.
        unit: of value and bounds.
        at_least: lower bound, or None.
        at_most: upper bound, or None.
        portable: whether it should hold on any machine (ratios, memory), so that `--check` insists on it.
    """

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    portable: bool = True

    @property
    def met(self) -> bool:
        """Whether the value is known and on the right side."""
        low, high = self.at_least, self.at_most
        return (
            not math.isnan(self.value) and (low is None or self.value >= low) and (high is None or self.value <= high)
        )

    def words(self) -> str:
        """The line."""
        bound = f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"
        verdict = "met" if self.met else "MISSED"
        return f"{self.name:<56} {self.value:>8.3g} {self.unit:<12} {bound:<8} {verdict}"


@dataclass
class Scorecard:
    """What was found; details are printed as they come, goals at the end."""

    goals: list[Goal] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def tell(self, name: str, value: Any, words: str) -> None:
        """Keep a detail and print it."""
        self.details[name] = asdict(value) if isinstance(value, Timing) else value
        print(f"  {name + ':':<34} {words}", flush=True)

    def tell_rates(self, timings: dict[str, Timing], count: float, unit: str) -> None:
        """Keep timings and print each with the rate it makes of `count`, which is in millions of `unit`."""
        for name, timing in timings.items():
            self.tell(name, timing, f"{timing.words()}, {count / timing.median:.3f} {unit}")

    def table(self) -> str:
        """All goals."""
        return "\n".join(goal.words() for goal in self.goals)

    def write(self, path: Path) -> None:
        """All as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not a number is no JSON: what could not be measured is null.
        goals = [{**asdict(g), "value": None if math.isnan(g.value) else g.value, "met": g.met} for g in self.goals]
        path.write_text(json.dumps({"goals": goals, "details": self.details}, indent=2) + "\n")
