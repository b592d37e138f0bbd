"""Coincide beside the engines that people would run instead: Flink SQL, Spark SQL and Quix Streams on one Kafka.

`load` makes the detections and knows every pair; `contestants` says how each engine is started; `watching` counts what
comes out and what it cost; `contest` runs them one after another and makes the tables. `installation` fetches the
peers. The peers' own programs lie beside: `Join.java`, `spark_join` and `quix_join`.
"""
