"""Jobs that run on Spark: the fusion job and its pure core."""
