"""Options of jobs and commands, stated once: type, check, default and help, a module for each subject.

`source`, `results`, `export`, `repair`, `maintenance` the options; `checks` what their texts may say; `jobs` which job
takes which; `declared` all of them together, as command lines and pipelines.yaml are made from them.
"""

from pulsar_backlog.options.checks import parse_duration_ms, parse_instant, parse_percent
from pulsar_backlog.options.declared import (
    OPTIONS,
    Declared,
    Options,
    faults_of,
    given_options,
    in_time_order,
    options_of,
)
from pulsar_backlog.options.jobs import JOB_OPTIONS
from pulsar_backlog.options.words import Frozen

__all__ = [
    "JOB_OPTIONS",
    "OPTIONS",
    "Declared",
    "Frozen",
    "Options",
    "faults_of",
    "given_options",
    "in_time_order",
    "options_of",
    "parse_duration_ms",
    "parse_instant",
    "parse_percent",
]
