"""Forwarding: what a line in one process hears, or has found, goes to a line above it, whenever there is a connection.

- `forward_settings`: where to, with which key, and what
- `upward_items`: records as the line above takes them
- `upward_poster`: one POST, and what becomes of it
- `forward_thread`: follows the topic, and keeps its position in the log
- `forward_metrics`: how much went, waits and was refused
"""
