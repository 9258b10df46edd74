"""Serving: a fitted classifier as an ONNX graph, as an MLflow model, and behind HTTP.

Examples
--------
>>> import sepc.serving
>>> sepc.serving.to_onnx  # doctest: +ELLIPSIS
<function to_onnx at ...>
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
