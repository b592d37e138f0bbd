"""The algorithms for interval timestamps, and the regions of certain and possible partners."""
