"""Templates that have a name, which sensors share, and those that were learnt and wait for a decision."""
