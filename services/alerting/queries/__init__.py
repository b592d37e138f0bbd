"""Changes of queries: checked, published, and answered once the change is stored."""
