"""Common parts of all packages: array types, errors, validation, frames, texts, intervals, splits, files."""
