"""SQL over the tables of an output folder: DuckDB and Spark as engines, users' queries, views, queries of conf/."""
