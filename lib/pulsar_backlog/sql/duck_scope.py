"""DuckDB's table functions that a query of `sql` may call: each gives rows, and changes nothing.

What they may read, DuckDB's own settings bound (`sql/duck.py`); of what they do besides they know nothing:
`enable_logging(storage = 'file', ...)` stands in a SELECT, and writes into the folders of the tables that are opened.
So the names of all table functions of a query are looked at, as DuckDB's parser has them. A new DuckDB's functions are
refused until someone has read what they do; a test compares both lists with those of the installed one.
"""

from __future__ import annotations

import json
import re

import duckdb

from pulsar_backlog.sql.duck_values import literal

_REASONS = {
    "it writes files": ("enable_logging", "enable_profiling"),
    "it changes what DuckDB does or stores": (
        "checkpoint", "disable_logging", "disable_profiling", "force_checkpoint", "truncate_duckdb_logs",
    ),
    "its arguments hold a query": ("json_execute_serialized_sql", "query"),
    "its arguments are addresses in memory": (
        "arrow_scan", "arrow_scan_dumb", "pandas_scan", "python_map_function",
    ),
}  # fmt: skip
REFUSED = {name: why for why, names in _REASONS.items() for name in names}
"""Table functions that do more than give rows, each with the reason."""
ALLOWED = frozenset(
    """
    duckdb_approx_database_count duckdb_columns duckdb_connection_count duckdb_constraints duckdb_coordinate_systems
    duckdb_databases duckdb_dependencies duckdb_extensions duckdb_external_file_cache duckdb_functions duckdb_indexes
    duckdb_keywords duckdb_log_contexts duckdb_logs duckdb_logs_parsed duckdb_memory duckdb_optimizers
    duckdb_prepared_statements duckdb_profiling_settings duckdb_schemas duckdb_secret_types duckdb_secrets
    duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables duckdb_temporary_files duckdb_types
    duckdb_variables duckdb_views generate_series glob histogram histogram_values icu_calendar_names json_each json_tree
    parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_metadata parquet_scan
    parquet_schema pg_timezone_names pragma_collations pragma_database_size pragma_metadata_info pragma_platform
    pragma_show pragma_storage_info pragma_table_info pragma_user_agent pragma_version query_table range read_blob
    read_csv read_csv_auto read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson
    read_ndjson_auto read_ndjson_objects read_parquet read_text repeat repeat_row seq_scan sniff_csv summary
    test_all_types test_vector_types unnest which_secret
    """.split()  # noqa: SIM905 - as one reads it
)
_CALL = '"type":"TABLE_FUNCTION"'
_NAMED_CALL = re.compile(rf'{_CALL}.*?"function_name":("(?:[^"\\]|\\.)*")', re.DOTALL)


def refusal(connection: duckdb.DuckDBPyConnection, query: str) -> str | None:
    """Why a query is not to be run, as a sentence; None where nothing speaks against it.

    Raises:
        duckdb.Error: the parser refuses it.
    """
    (tree,) = connection.execute(f"SELECT CAST(json_serialize_sql({literal(query)}) AS VARCHAR)").fetchone() or ("",)
    names = [str(json.loads(name)).lower() for name in _NAMED_CALL.findall(tree)]
    if tree.startswith('{"error":true') or len(names) != tree.count(_CALL):
        duckdb.extract_statements(query)  # says what the parser has against it
        return "its functions cannot be listed: write it as one SELECT"
    for name in names:
        if name not in ALLOWED:
            why = REFUSED.get(name, "nobody has looked at what it does")
            reach = "a query reads these tables and views, and nothing else"
            return f"the function {name} is refused, because {why}: {reach}"
    return None
