"""Leadership: of all processes of alerting on one database, one writes and tells."""
