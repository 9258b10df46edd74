from .counterfactual import Change, Counterfactual
from .evidence import ColumnEvidence, Evidence
from .explanation import Explanation
from .neighbours import Neighbour
from .notes import MissingNote, PolicyNote
from .places import FeatureShare, RegionNote
from .shares import RegionShare
from .short_text import Acceptance, Advice, Doubt
from .usual_values import Usual

__all__ = [
    "Acceptance",
    "Advice",
    "Change",
    "ColumnEvidence",
    "Counterfactual",
    "Doubt",
    "Evidence",
    "Explanation",
    "FeatureShare",
    "MissingNote",
    "Neighbour",
    "PolicyNote",
    "RegionNote",
    "RegionShare",
    "Usual",
]
