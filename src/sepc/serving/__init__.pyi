from . import mlflow
from .graphs.export import to_onnx

__all__ = ["mlflow", "to_onnx"]
