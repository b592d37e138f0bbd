"""The fusion core without Spark: records in, records and state out; the job imports `FusionCore` and `Limits`."""
