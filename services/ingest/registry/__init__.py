"""Sensors and streams: the topics, the file that seeds them, the snapshot that stamps, and the routes."""
