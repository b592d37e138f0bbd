"""What ingest writes to Kafka: frames, heartbeats and dead letters, through a publisher that bounds every wait."""
