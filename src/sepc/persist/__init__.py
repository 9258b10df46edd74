"""Fitted classifiers in files: saved without pickle, loaded without running anything, and told in words."""

from sepc.persist.model_files import load, save
from sepc.persist.rules_in_words import rules_dict

__all__ = ["load", "rules_dict", "save"]
