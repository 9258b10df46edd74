from .given_scores import GivenScores
from .trusted_classifier import TrustedClassifier

__all__ = ["GivenScores", "TrustedClassifier"]
