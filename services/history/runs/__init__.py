"""Runs over history: from request to folder, answers as live, the queue, what is asked over HTTP, and comparisons."""
