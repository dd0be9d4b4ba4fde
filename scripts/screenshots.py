"""Pictures of a report for docs/screenshots.md, taken by Chromium: `make screenshots`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SHOTS = {"report-verdict": ("verdict", 1000), "report-blocked": ("blocked", 800), "report-topic": ("topic-1", 1000)}
"""Pictures by name: what stands at the top, and how high each is."""

WIDTH = 1180
# A picture of a page is of its beginning: the frame moves the page up to what is to be seen.
FRAME = """<!doctype html><body style="margin:0;overflow:hidden">
<iframe src="PAGE" style="border:0;width:100%;height:30000px;position:absolute"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const top = frame.contentDocument.getElementById("ANCHOR").getBoundingClientRect().top;
  frame.style.top = `${12 - top}px`;
});
</script>"""


def chromium() -> str:
    """The browser: the one that is named, or the system's."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    found = next(filter(None, map(shutil.which, filter(None, names))), None)
    if found is None:
        sys.exit("Chromium is needed (apt install chromium; or say CHROMIUM=/path/to/it).")
    return found


def main(out: str) -> None:
    """Take each picture of the report in a folder."""
    page = (Path(out) / "report.html").resolve()
    if not page.is_file():
        sys.exit(f"{page} is not there: make demo writes it.")
    browser = chromium()
    for name, (anchor, height) in SHOTS.items():
        with tempfile.TemporaryDirectory() as folder:
            frame = Path(folder) / "frame.html"
            frame.write_text(FRAME.replace("PAGE", page.as_uri()).replace("ANCHOR", anchor))
            command = [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{height}",
                f"--screenshot={IMAGES / name}.png", "--allow-file-access-from-files", "--virtual-time-budget=3000",
                frame.as_uri(),
            ]  # fmt: skip
            subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - our own words
        sys.stdout.write(f"{IMAGES / name}.png\n")


if __name__ == "__main__":
    main(sys.argv[1])
