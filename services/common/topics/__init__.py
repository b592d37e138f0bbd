"""Topics of a log: what they are called, declared as, written by and followed by."""
