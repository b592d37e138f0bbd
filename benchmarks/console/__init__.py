"""Benchmarks of the console: what people who look cost the line, and what they see."""
