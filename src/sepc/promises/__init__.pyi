from .preview import PromisePreview, preview_promise
from .selection import select_min_trust
from .trust_threshold import TrustThreshold

__all__ = ["PromisePreview", "TrustThreshold", "preview_promise", "select_min_trust"]
