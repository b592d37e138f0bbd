"""The log on which services stand: topics of records, appended and read by position, whoever keeps them.

`Log` is the seam and `LogReader` its reading half. `services.common.local_log` keeps the records in a file of this
machine, `services.common.kafka.kafka_log` in Kafka. Nothing in here knows either.
"""
