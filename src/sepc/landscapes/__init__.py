"""Landscapes of labelled data, before and after a fit, and findings on them."""
