"""Explanations of verdicts: why a record gets its label, and the smallest change that would give it another one.

`explain` of a classifier returns an `Explanation`; the other classes are the parts of it.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "counterfactual": ["Change", "Counterfactual"],
        "explanation": ["Explanation"],
        "notes": ["MissingNote", "Neighbour", "PolicyNote"],
        "places": ["FeatureShare", "RegionNote"],
        "shares": ["FeatureTerm", "MainEvidence", "RegionShare"],
    },
)
