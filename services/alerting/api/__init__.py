"""Routes of alerting: queries, stored results, the live stream; and the models of what they take and answer."""
