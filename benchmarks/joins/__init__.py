"""The joins of the library, in batches and in streams, and the probabilities behind them.

`timing_join` and `window_join` compete with DuckDB, Polars and Spark (`range_joins`, `window_join_sql`); `streams`,
`satisfaction_table` and `probability` say what an item costs. `micro` may import what makes random input.
"""
