"""Ingest takes detections over HTTP, stamps them with their sensor's template and hands them to the log.

Start in `server` (wiring) or `app` (routes); other components import `settings` and the registry of sensors.
"""
