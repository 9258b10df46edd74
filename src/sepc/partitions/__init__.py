"""Partitions: the paper's Algorithms 1 and 2, and the binary problems of several classes."""
