"""Whether the time of a scan stays flat, with few large entries and with many small ones: straight lines, in a plot.

    python -m bench.flat --plot docs/images/flat.svg     # some 4 minutes; writes and deletes up to 5 GB in bench-data/

Entries of each size are audited in three amounts. Core seconds, as other programs change them little.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.generate import Spec
from bench.growth import Audit, audit_of, written

ENTRY_BYTES = (200, 1_000, 20_000)
AMOUNTS = (1, 2, 4)
LEAST_BYTES = 1_000_000_000
_COLOURS = ("#b45309", "#1d4ed8", "#15803d")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 360, 52, 150, 16, 44


@dataclass(frozen=True)
class Point:
    """One audit.

    Attributes:
        entry_bytes: payload of each entry.
        entries: how many.
        audit: what it took.
    """

    entry_bytes: int
    entries: int
    audit: Audit

    @property
    def gigabytes(self) -> float:
        """Of all payloads."""
        return self.entry_bytes * self.entries / 1e9

    @property
    def core_seconds(self) -> float:
        """Of the scan."""
        return self.audit.scan.core_seconds

    def us_for_each_more(self, less: Point) -> float:
        """Core microseconds for each entry that a smaller audit does not have."""
        return (self.core_seconds - less.core_seconds) / (self.entries - less.entries) * 1e6


def measure(entry_bytes: int, least_bytes: int) -> list[Point]:
    """Entries of one size in all amounts."""
    points = []
    for times in AMOUNTS:
        entries = least_bytes * times // entry_bytes
        with written(Spec(entries, entry_bytes=entry_bytes, ledgers=10, chunk_share=0.02)) as source:
            points.append(Point(entry_bytes, entries, audit_of(source)))
        print(f"{entry_bytes:>6,} bytes, {entries:>10,} entries: {points[-1].audit.words()}", flush=True)
    for less, more in pairwise(points):
        us = more.us_for_each_more(less)
        print(f"    {us:.2f} core us for each entry more, {us / entry_bytes * 1000:.2f} core ns a byte")
    return points


def plot(lines: list[list[Point]]) -> str:
    """Core seconds of the scan over gigabytes, a line for each size of entries."""
    most_x = max(point.gigabytes for line in lines for point in line)
    most_y = max(point.core_seconds for line in lines for point in line) * 1.05

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + x / most_x * across, _HEIGHT - _BOTTOM - y / most_y * up

    (left, low), (right, high) = place(0, 0), place(most_x, most_y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12"><title>Core seconds of the scan over gigabytes</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<path d="M{left:.0f} {high:.0f}V{low:.0f}H{right:.0f}" fill="none" stroke="#555"/>',
        f'<text x="{(left + right) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">GB of payloads</text>',
        f'<text x="{left:.0f}" y="{high - 4:.0f}">core seconds of the scan, up to {most_y / 1.05:.1f}</text>',
    ]
    for line, colour in zip(lines, _COLOURS, strict=True):
        at = [place(point.gigabytes, point.core_seconds) for point in line]
        ends = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts.append(f'<polyline points="{ends}" fill="none" stroke="{colour}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in at]
        x, y = at[-1]
        label = f"{line[-1].entry_bytes:,} bytes: {line[-1].core_seconds:.1f}"
        parts.append(f'<text x="{x + 8:.0f}" y="{y + 4:.0f}" fill="{colour}">{label}</text>')
    for point in lines[0]:
        x, y = place(point.gigabytes, 0)
        parts.append(f'<text x="{x:.0f}" y="{y + 16:.0f}" text-anchor="middle">{point.gigabytes:.0f}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main(argv: list[str]) -> int:
    """Measure, print, and draw."""
    parser = argparse.ArgumentParser(prog="bench.flat")
    parser.add_argument("--bytes", type=int, default=LEAST_BYTES)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(argv)
    lines = [measure(entry_bytes, options.bytes) for entry_bytes in ENTRY_BYTES]
    if options.plot:
        options.plot.write_text(plot(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
