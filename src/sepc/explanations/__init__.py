"""Explanations: why this label, what would have to change for another one, and in which words."""
