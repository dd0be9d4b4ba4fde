"""Where the planner of a stream finds what `--py-files` sent.

Spark plans the batches of a Python source in a process of the driver that looks for modules in a folder
`streaming_job` of the files that were sent (`PythonStreamingSourceRunner`). Nothing puts any there: a stream of a
package that is only in a zip ends with ModuleNotFoundError. A link to the folder of these files is enough, also for
later ones.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "streaming_job"


def link_files_for_streams(spark: SparkSession) -> None:
    """Let streams of this driver find the files that were sent; of a driver elsewhere nothing changes."""
    if getattr(spark, "_sc", None) is None:  # Spark Connect
        return
    root = Path(SparkFiles.getRootDirectory())
    with suppress(FileExistsError):
        (root / FOLDER).symlink_to(root, target_is_directory=True)
