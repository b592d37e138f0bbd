"""Sensors and their templates: the topic, the file that seeds it, the snapshot that stamps, and the routes."""
