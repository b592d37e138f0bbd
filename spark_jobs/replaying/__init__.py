"""Runs over history: what is asked, where rows and records come from, both answers, curves, and comparisons."""
