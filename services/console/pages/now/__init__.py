"""The page Now: the timeline and what leads around on it, the evidence of what is chosen, and the first steps."""
