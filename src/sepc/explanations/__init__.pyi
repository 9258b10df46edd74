from .counterfactual import Change, Counterfactual
from .explanation import Explanation
from .notes import MissingNote, Neighbour, PolicyNote
from .places import FeatureShare, RegionNote
from .shares import FeatureTerm, MainEvidence, RegionShare

__all__ = [
    "Change",
    "Counterfactual",
    "Explanation",
    "FeatureShare",
    "FeatureTerm",
    "MainEvidence",
    "MissingNote",
    "Neighbour",
    "PolicyNote",
    "RegionNote",
    "RegionShare",
]
