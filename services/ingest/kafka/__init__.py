"""What ingest writes to Kafka: frames, heartbeats and dead letters, and the publisher that bounds every wait."""
