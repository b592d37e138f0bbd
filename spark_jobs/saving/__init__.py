"""The state of a shard as bytes: a header, journal slots, and the version that both carry."""
