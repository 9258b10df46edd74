"""Promises: trust thresholds that bound errors or costs among accepted labels, for all of them or by parts."""

from sepc.promises.part_promises import PartPromises
from sepc.promises.preview import PromisePreview, preview_promise
from sepc.promises.selection import select_min_trust
from sepc.promises.trust_threshold import TrustThreshold

__all__ = ["PartPromises", "PromisePreview", "TrustThreshold", "preview_promise", "select_min_trust"]
