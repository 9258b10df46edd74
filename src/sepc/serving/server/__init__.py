"""The scorer: a saved model behind HTTP, with JSON, CSV and the tensors of KServe's version 2."""
