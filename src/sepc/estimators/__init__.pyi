from .classifier import SEPClassifier
from .ensemble.ensemble_classifier import SEPEnsembleClassifier
from .label_sets import PredictionSets
from .n_imp_selection import NImpPath, select_n_imp

__all__ = ["NImpPath", "PredictionSets", "SEPClassifier", "SEPEnsembleClassifier", "select_n_imp"]
