"""What every host of the engine tells of it, and keeps beside it."""
