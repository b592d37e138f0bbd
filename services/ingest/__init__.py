"""Ingest: takes detections over HTTP, stamps them with their sensor's template and hands them to Kafka."""
