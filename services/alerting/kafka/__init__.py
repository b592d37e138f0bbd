"""What alerting reads from Kafka and how it stores it; and the publisher of queries."""
