"""PTJoin for histogram timestamps, by Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006)."""
