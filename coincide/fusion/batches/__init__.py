"""What every host of the engine does with a batch: what it takes on, what it leaves, what it keeps, what it tells."""
