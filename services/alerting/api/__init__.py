"""The HTTP face of alerting: one router per file."""
