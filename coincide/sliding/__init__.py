"""Continuous queries over readings: coalesced runs in windows that slide, eagerly or lazily, with the same answers."""
