"""Coalescing: what holds without a break, from readings and facts that come one by one."""
