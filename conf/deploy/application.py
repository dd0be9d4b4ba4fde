"""The program as one Spark application: `spark-submit ... application.py audit s3://... --out s3a://...`."""

from pulsar_backlog.cli import run_cli

if __name__ == "__main__":
    run_cli()
