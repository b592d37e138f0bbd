"""Coalescing: in batches beside DuckDB and PostgreSQL, in streams, and what each operation costs.

`batch` competes with the SQL of `duckdb_sql` and `postgres` on the rows of `rows`; `streaming` pushes readings as they
arrive; `unit_costs` measures single operations, and `schemes` compares eager and lazy coalescing with the cost model.
"""
