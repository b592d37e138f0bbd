"""The fusion core: Kafka records in, Kafka records out, state as bytes; no Spark in here.

`FusionCore` and `Limits` are what the job imports; the rest is the state of a shard and what a batch does to it.
"""
