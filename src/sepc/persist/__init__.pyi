from .model_files import load, save
from .rules_in_words import rules_dict

__all__ = ["load", "rules_dict", "save"]
