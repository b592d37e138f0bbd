"""From frames to accepted rows in columns; others import `EventColumns`, `Areas` and `AcceptedBatch`."""
