"""What ingest writes to the log: frames of detections, heartbeats and dead letters."""
