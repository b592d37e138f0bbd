"""Alembic's entry: runs the migrations on the connection that `store.migrate` hands over."""

from alembic import context

from services.alerting.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, transaction_per_migration=False
)
with context.begin_transaction():
    context.run_migrations()
