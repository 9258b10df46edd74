from .document import Report, report

__all__ = ["Report", "report"]
