"""Review desk: refused records and a random audit go to people, whose decisions are kept, measured and learned from.

Examples
--------
>>> import sepc.desk
>>> sepc.desk.run  # doctest: +ELLIPSIS
<function run at ...>
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
