"""The live stream: the hub hands stored rows to its readers, and a stream writes them as server-sent events."""
