"""Sets of points: one interface to points in memory, in a file, on a device, on a cluster."""
