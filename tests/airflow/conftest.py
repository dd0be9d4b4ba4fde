"""Airflow reads its settings when it is first imported, so they are set before any test is."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]

os.environ["AIRFLOW_HOME"] = str(ROOT / ".cache" / "airflow")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = str(ROOT / "conf" / "airflow")
os.environ["AIRFLOW_CONN_SPARK_DEFAULT"] = '{"conn_type": "spark", "host": "local[2]"}'
