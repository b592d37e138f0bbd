"""HTTP services. ingest takes detections and alerting serves results; the two meet only in Kafka."""
