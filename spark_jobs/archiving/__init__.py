"""The archive's job: which records are written when, and what it counts."""
