"""The alerting database: tables, migrations and rows. It is filled from Kafka, and filled again when it is lost."""
