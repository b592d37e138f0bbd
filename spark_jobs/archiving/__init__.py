"""The archive of detections: frames to rows, rows to Parquet files, the law of their names, and the job itself."""
