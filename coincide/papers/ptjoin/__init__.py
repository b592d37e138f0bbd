"""PTJoin and its yardsticks, for histogram timestamps, and what they rest on."""
