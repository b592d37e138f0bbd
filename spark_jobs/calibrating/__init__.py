"""Learning templates on Spark: rows of an archive or of the topic, and where proposals go."""
