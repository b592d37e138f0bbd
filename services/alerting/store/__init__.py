"""The alerting database: a projection of Kafka topics, rebuilt from them when it is lost."""
