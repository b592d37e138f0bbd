"""A shard's state as bytes: its header, the journal of rows in slots, and back; only the core imports it."""
