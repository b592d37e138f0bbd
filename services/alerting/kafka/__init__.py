"""The thread that follows Kafka: records read, sorted and stored; and the publisher of queries."""
