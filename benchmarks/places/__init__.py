"""Places: whether the region is right, and whether one source tells events from chance."""
