"""Start the ordinary kernel, with a recorder that verifies every certified result of the notebook."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[4])
from tools import recorder  # noqa: E402

sys.path.pop(0)  # the kernel adds the notebook's folder, as always
recorder.install()
sys.argv += ["--ext=tools.recorder", "--IPKernelApp.log_level=40"]

from ipykernel import kernelapp  # noqa: E402

kernelapp.launch_new_instance()
