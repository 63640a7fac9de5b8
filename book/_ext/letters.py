"""Formulas in plain letters, where nothing sets them: descriptions of pages, excerpts and names of the search."""

from __future__ import annotations

import re

from docutils.utils.math import tex2unichar

FRACTION = re.compile(r"\\[td]?frac\s*(?:\{([^{}]*)\}|(\S))\s*(?:\{([^{}]*)\}|(\S))")
LAYOUT = re.compile(
    r"\\(?:begin|end)\{\w+\*?\}|\\[A-Za-z]+\*?(?=\{)|\\(?:left|right|[bB]igg?[lr]?)\b|\\[()\[\]]|[{}]"
)
SPACE = re.compile(r"\\[,;:! \\]|\\q?quad\b|[&\s]+")
TABLES = ("alpha", "bin", "close", "open", "op", "ord", "rel")
SIGNS = {n: sign for t in TABLES for n, sign in vars(tex2unichar)[f"math{t}"].items()}
SIGNS |= dict.fromkeys(("lVert", "rVert", "Vert", "|"), "‖")
SIGNS |= dict.fromkeys(("lvert", "rvert", "vert"), "|")
SIGNS |= {name: name for name in ("arg", "exp", "inf", "log", "max", "min", "sup")}


def in_letters(text: str) -> str:
    r"""Return a text whose TeX is replaced by signs, as far as there are signs.

    >>> in_letters(r"at most \(\tfrac12 \lVert w \rVert^2 \geq \nu\), \text{for} $$ w^\top x$$")
    'at most 1/2 ‖ w ‖^2 ≥ ν, for $$ wᵀ x$$'
    """
    text = re.sub(r"\^\\top\b|\^\{\\(?:top|mathsf T)\}", "ᵀ", text)
    text = FRACTION.sub(r"\1\2/\3\4", text)
    text = SPACE.sub(" ", LAYOUT.sub("", text))
    text = re.sub(r"\\([A-Za-z]+|.)", lambda m: SIGNS.get(m[1], ""), text)
    return " ".join(text.split())
