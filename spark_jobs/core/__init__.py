"""The fusion core: Kafka records in, Kafka records out, state as bytes; no Spark in here."""
