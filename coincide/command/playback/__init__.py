"""``coincide replay``: the engine over files of detections, in the order in which they would have arrived."""
