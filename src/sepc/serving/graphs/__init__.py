"""Fitted classifiers as ONNX graphs."""
