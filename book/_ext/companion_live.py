"""Buttons that open a page where it runs: Binder, and Colab for a project on GitHub.

They appear once ``_config.yml`` says where the project lives (``repository.url``), and not before: without an address
they would lead nowhere, or to the builder's own example.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from sphinx.application import Sphinx
from sphinx.config import Config

BINDER = "https://mybinder.org"
COLAB = "https://colab.research.google.com"
FORGES = ("github.com", "gitlab.com")


def address(repository: dict[str, Any]) -> str:
    """Return the project's address in the form that the theme takes; empty if there is none.

    >>> address({"url": "https://github.com/someone/companion.git"})
    'https://github.com/someone/companion'
    >>> address({"url": ""}), address({})
    ('', '')
    """
    url = re.sub(r"(\.git)?/*$", "", (repository.get("url") or "").strip())
    if not url:
        return ""
    parts = urlsplit(url)
    if (
        parts.scheme != "https"
        or parts.netloc not in FORGES
        or len(parts.path.strip("/").split("/")) != 2
    ):
        raise ValueError(
            f"repository.url in _config.yml must be https://HOST/OWNER/NAME with HOST one of {', '.join(FORGES)}; "
            f"got {url!r}"
        )
    return url


def theme_options(repository: dict[str, Any]) -> dict[str, Any]:
    """Return the theme's options for the buttons."""
    url = address(repository)
    if not url:
        return {"launch_buttons": {}, "repository_url": ""}
    buttons = {"binderhub_url": BINDER, "notebook_interface": "jupyterlab"}
    if "//github.com/" in url:
        buttons["colab_url"] = COLAB
    return {
        "launch_buttons": buttons,
        "repository_url": url,
        "repository_branch": repository.get("branch") or "main",
        "path_to_docs": "",
    }


def add_buttons(app: Sphinx, config: Config) -> None:
    """Set the theme's options from the book's configuration."""
    text = (Path(app.srcdir) / "_config.yml").read_text(encoding="utf-8")
    repository = yaml.safe_load(text).get("repository") or {}
    options = theme_options(repository)
    config.html_theme_options = {**config.html_theme_options, **options}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("config-inited", add_buttons)
    return {
        "version": "1",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
