"""Around another model: trust, refusal, reasons and promises for any classifier."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
