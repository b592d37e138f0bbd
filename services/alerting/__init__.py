"""Alerting: holds the queries, stores matches and dead letters, serves them over REST and as a live stream."""
