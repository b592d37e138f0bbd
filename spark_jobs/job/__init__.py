"""The fusion job around its core: Spark, checkpoint, restarts, metrics; only `spark_jobs.fusion` imports it."""
