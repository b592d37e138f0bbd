"""Writing answers: pairs and runs as CSV, NDJSON or Parquet, whole or not at all."""
