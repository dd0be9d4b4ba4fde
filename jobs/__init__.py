"""One spark-submit file per job: docstring, arg_parser(), main(given) -> int. Importing one does nothing."""
