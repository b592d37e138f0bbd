"""From frames to accepted rows in columns: decoded, checked, deduplicated, judged late or not."""
