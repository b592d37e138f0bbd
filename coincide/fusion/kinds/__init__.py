"""What a shard holds for each kind of query, and how it answers: joins with their episodes, windows, spells."""
