"""What the past says: runs over history, their curves, and how they differ from each other and from what is live."""
