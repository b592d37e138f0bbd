"""What becomes of a POST: its items are judged, stamped, published, and refused ones become dead letters."""
