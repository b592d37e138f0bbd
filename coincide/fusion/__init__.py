"""The fusion engine, pure: records of detections and queries in, records of what they mean and state out."""
