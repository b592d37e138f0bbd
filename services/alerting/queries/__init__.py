"""Changes of queries: documents are checked, published to Kafka, and answered once they are stored."""
