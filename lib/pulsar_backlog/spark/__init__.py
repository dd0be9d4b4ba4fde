"""The Spark session, and all that a release of Spark touches: settings, jars, Java, class archive, scratch, deaths.

What leans on more than Spark's public Python API; CONTRIBUTING.md names the test of each that says when it broke:

- `jars.py`: Delta's jar for each release, and those of `s3a://`, which fit one release of Hadoop.
- `mismatches.py`: the words in which Spark and pyspark say that a cluster runs other releases than the driver.
- `session.py`: settings, `launch_gateway`, `SparkContext._gateway`, what Py4J finds under a name.
- `class_archive.py`, `java.py`: which Java, its flags, and the module that Spark's launcher adds.
- `daemon.py`, `workers.py` of the package: `pyspark.daemon` and `pyspark.worker`, whose `main` a task is.
- `stream_files.py`: the folder in which the planner of a Python source's stream looks for `--py-files`.
- `sql/spark_scope.py`: `cloneSession`, `sqlParser`, `Dataset.ofRows`, names of the parser's nodes.
- `tableio/spark_log.py`: Delta's `DeltaLog`, `DeltaOperations$Write` and its count of arguments.
- `frames/export/tasks.py`: `repartitionById`, where Spark has it (4.1).
- `sql/duck_values.py`: texts in SQL; Spark 4.0 drops the quote of `''`.
"""
