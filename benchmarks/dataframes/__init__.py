"""Joins of DataFrames and of the archive beside Spark's own joins and DuckDB, everybody from and to Parquet files.

`archive` makes the files, `makers` are we and our peers, `contest` lets them take turns.
"""
