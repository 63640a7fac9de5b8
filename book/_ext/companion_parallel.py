"""Write the pages with several processes, collect garbage seldom, and look up plugins once.

Jupyter Book has no option for Sphinx's ``-j``. Reading stays in one process: extensions that number boxes and
exercises keep lists in memory.
"""

from __future__ import annotations

import gc
import os
from typing import Any

from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def write_in_parallel(app: Sphinx, env: BuildEnvironment) -> None:
    """After reading, before writing: one process resolves references, the others write."""
    app.parallel = 1 + min(os.cpu_count() or 1, 4)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the end of reading."""
    # A document is millions of small objects, and almost none of them is garbage.
    gc.set_threshold(500_000, 20, 20)
    # For each citation pybtex would search all installed packages for its plain text.
    register_plugin("pybtex.backends", "plaintext", Backend)
    app.connect("env-updated", write_in_parallel)
    return {
        "version": "1",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
