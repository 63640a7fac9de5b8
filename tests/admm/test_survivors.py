"""Tests that kill mutants which all others let live (see tools/mutants.py)."""

import numpy as np
from scipy.special import expit

from companion.admm import prox_logistic


def test_the_bracket_of_the_logistic_prox_is_needed() -> None:
    """Newton's step leaves the bracket for few pairs only, as v = -1.5, t = 3.16: a grid finds them.

    The residual of ``x - v = t / (1 + e^x)``, compared with its terms.
    """
    v = np.r_[np.linspace(-60, 60, 241), -1e6, -1e3, 1e3]
    for t in 10.0 ** np.linspace(-8, 8, 65):
        x = prox_logistic(v, t)
        pull = t * expit(-x)
        assert (np.abs(x - v - pull) <= 1e-14 * (np.abs(x) + np.abs(v) + pull)).all()
