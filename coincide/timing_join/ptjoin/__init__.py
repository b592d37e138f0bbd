"""PTJoin, the join of histogram timestamps, and its yardsticks Simple and Eager; what they rest on, one per file."""
