"""What each kernel runs first: its libraries are a million objects, and none of them is garbage.

With COMPANION_VERIFY set, tests/notebooks/recorder.py verifies each result of a notebook that nbval runs.
"""

import gc
import os
import sys

gc.set_threshold(100_000, 20, 20)
if "COMPANION_VERIFY" in os.environ and ".ipynb" in os.environ.get("PYTEST_CURRENT_TEST", ""):
    sys.path.insert(0, os.environ["PYTHONSTARTUP"].rpartition("/tests/")[0])
    get_ipython().run_line_magic("load_ext", "tests.notebooks.recorder")  # noqa: F821
    del sys.path[0]
del gc, os, sys
