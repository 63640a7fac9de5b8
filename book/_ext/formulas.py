"""A formula that is broken for a phone stands in one piece where there is room.

The lines of a displayed formula fit a phone. Where a line only continues the one before it, the form in one piece goes
into the page as well, and the style sheet shows one of the two.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

# The next line begins with a space and goes on, or with a plus or minus that has something before it.
CONTINUED = re.compile(r"\s*\\\\\s*&\s*(?:\\q?quad\b\s*|(?=\{\}\s*[+-])|(?=\+))")
ROOM = 52  # letters and signs that a column certainly holds
WIDTHLESS = re.compile(
    r"\\(?:begin|end|text|operatorname|mathbf|mathbb|left|right|[tb]?frac|q?quad)\b|\\[,;!]|[{}&\s]"
)
SMALL = re.compile(r"[_^](?:\{([^{}]*)\}|(\\[A-Za-z]+|\w))")


def length(line: str) -> float:
    r"""About how many letters and signs a line of TeX is wide; small ones count half.

    >>> length(r"L_\rho(u) &= J(u) \quad {}"), length("x^2 + y^2")
    (9.5, 4.0)
    """
    count: list[float] = [len(re.sub(r"\\[A-Za-z]+|\\.", "x", WIDTHLESS.sub("", line)))]
    count += [-len(re.sub(r"\\[A-Za-z]+", "x", a or b)) / 2 for a, b in SMALL.findall(line)]
    return sum(count) - len(re.findall(r"[_^]", line))


def joined(tex: str) -> str:
    r"""Put the lines back that were broken for a phone, if they fit.

    >>> print(joined(r"\begin{aligned} f &= a \\ & \quad + b \\ &= c \end{aligned}"))
    \begin{aligned} f &= a + b \\ &= c \end{aligned}
    """
    whole = CONTINUED.sub(" ", tex)
    if r"\\" not in whole and r"\begin" not in whole:  # no lines are left to be aligned
        whole = whole.replace("&", "")
    return whole if all(length(line) <= ROOM for line in whole.split(r"\\")) else tex


class JoinFormulas(SphinxPostTransform):
    """Add the form in one piece behind the one for a phone."""

    default_priority = 700
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for formula in list(self.document.findall(nodes.math_block)):
            whole = joined(formula.astext())
            if whole == formula.astext() or formula.get("number"):
                continue
            formula["classes"].append("broken")
            form = {"nowrap": formula.get("nowrap", False), "number": None, "label": None}
            other = nodes.math_block(whole, whole, classes=["whole"], **form)
            formula.parent.insert(formula.parent.index(formula) + 1, other)
