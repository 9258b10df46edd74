from .encoder import TableEncoder
from .pipeline import TablePipeline, make_table_pipeline

__all__ = ["TableEncoder", "TablePipeline", "make_table_pipeline"]
