"""Which accepted rows match, and what is said of each match."""
