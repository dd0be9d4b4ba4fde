"""One spark-submit file per job: docstring, arg_parser(), main(argv) -> int. Importing one does nothing."""
