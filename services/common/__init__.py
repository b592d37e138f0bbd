"""What both services need: Kafka clients, problem details, settings, metrics; nothing that only one needs."""
