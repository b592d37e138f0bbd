"""Answers over history: what is asked, where rows and records come from, both answers, and curves."""
