"""Read the notebooks again when the package behind them changed.

The builder keeps a page while its file is the same. The outputs come from the package as well, whose fingerprint
tools/notebooks.py leaves beside the cached notebooks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def outdated(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> list[str]:
    """Return all notebooks when the fingerprint is another one than at the last build."""
    stamp = Path(app.srcdir) / ".jupyter_cache" / "sources.sha256"
    digest = stamp.read_text() if stamp.exists() else ""
    if getattr(env, "companion_sources", None) == digest:
        return []
    env.companion_sources = digest
    return [
        name
        for name in env.found_docs
        if str(env.doc2path(name)).endswith(".ipynb")
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("env-get-outdated", outdated)
    return {
        "version": "1",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
