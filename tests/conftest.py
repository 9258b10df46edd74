"""How the laws are tried: the same examples in every run, unless HYPOTHESIS_PROFILE=explore asks for new ones."""

import os

from hypothesis import settings

# A busy machine is no failure: time is measured in bench/.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
