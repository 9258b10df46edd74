"""Raw tables: texts, categories, dates and missing values become features, and come back in explanations."""

from sepc.tables.cells import CellError
from sepc.tables.columns import Column
from sepc.tables.encoder import TableEncoder
from sepc.tables.pipeline import TablePipeline, make_table_pipeline

__all__ = ["CellError", "Column", "TableEncoder", "TablePipeline", "make_table_pipeline"]
