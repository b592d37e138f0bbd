"""The HTTP face of ingest: bodies read within bounds, parsed, answered item by item."""
