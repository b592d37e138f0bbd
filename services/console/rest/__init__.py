"""What the console asks of ingest and alerting: typed answers, errors as one sentence, and the live stream."""
