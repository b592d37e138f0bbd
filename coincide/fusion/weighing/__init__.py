"""Evidence of matches: what hangs together is kept until nothing can join it, then weighed as a whole."""
