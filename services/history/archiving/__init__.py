"""The archive of detections: frames to rows, rows to Parquet files, the law of their names, and how they are merged."""
