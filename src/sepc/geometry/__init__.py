"""Convex geometry on float64 arrays: ellipsoids, hulls, and how they lie to each other.

Knows no labels, no estimator and no file. The functions never print, warn or read a clock.
"""
