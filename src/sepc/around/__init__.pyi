from .given_scores import GivenScores
from .trusted_classifier import TrustedClassifier
from .trusted_explanation import HeldOutRecord, TrustedExplanation, TrustPart

__all__ = ["GivenScores", "HeldOutRecord", "TrustPart", "TrustedClassifier", "TrustedExplanation"]
