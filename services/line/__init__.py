"""The line in one process: what Kafka and Spark do for the services elsewhere, done over a log of this machine."""
