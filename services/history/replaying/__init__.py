"""Answers over history: what is asked, where rows and records come from, complete answers, and curves."""
