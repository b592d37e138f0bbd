"""Clocks over REST: shown and changed, and given to the sensors on them."""
