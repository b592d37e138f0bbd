"""The Java that runs Kafka and Spark, the jars they need, and archives of loaded classes; found, or fetched once."""
