"""The records that fusion reads and writes."""
