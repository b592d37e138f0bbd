"""The fusion job around its core: Spark, checkpoint, restarts, metrics."""
