"""What is asked of fusion: streams and queries in force, limits, and how long a query needs detections."""
