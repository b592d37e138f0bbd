"""The records that fusion reads and writes, without Kafka; every package of the job may import them."""
