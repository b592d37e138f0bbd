"""Reading files: CSV, NDJSON and Parquet to columns, and columns to events, rows and templates."""
