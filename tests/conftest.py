"""Hypothesis tries the same examples in each run, so that a failure is news of the change that was made.

With ``COMPANION_EXPLORE=1`` (``make test-all``) it looks for new ones.
"""

import os

from hypothesis import settings

settings.register_profile("same examples", derandomize=True, database=None, deadline=None)
settings.register_profile("new examples", print_blob=True, deadline=None)
settings.load_profile("new examples" if os.environ.get("COMPANION_EXPLORE") else "same examples")
