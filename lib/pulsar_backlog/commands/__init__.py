"""The commands of the command line, a module each; `cli.py` puts them together."""
