"""HTTP services: ingest receives detections, alerting serves results; they meet only in Kafka."""
