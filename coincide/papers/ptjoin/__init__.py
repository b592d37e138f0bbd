"""PTJoin and its yardsticks, for histogram timestamps, and what they rest on.

Definitions, lemmas, theorems and equations are those of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event
Streams (2006).
"""
