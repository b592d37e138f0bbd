"""The HTTP side of ingest: bodies are read within bounds, parsed, and answered item by item."""
