"""Input by its kind: training sets and predictions of points in memory, in files, on devices and on clusters."""
