"""Tests that kill mutants which all others let live (see tools/mutants.py)."""

import numpy as np
import pytest
from scipy.special import expit

from companion.admm import prox_logistic
from companion.admm.active_set import active_set_newton
from companion.admm.kkt import BoxQP


def test_the_bracket_of_the_logistic_prox_is_needed() -> None:
    """Newton's step leaves the bracket for few pairs only, as v = -1.5, t = 3.16: a grid finds them.

    The residual of ``x - v = t / (1 + e^x)``, compared with its terms.
    """
    v = np.r_[np.linspace(-60, 60, 241), -1e6, -1e3, 1e3]
    for t in 10.0 ** np.linspace(-8, 8, 65):
        x = prox_logistic(v, t)
        pull = t * expit(-x)
        assert (np.abs(x - v - pull) <= 1e-14 * (np.abs(x) + np.abs(v) + pull)).all()


@pytest.mark.parametrize("bound", [-1, 1])
def test_a_variable_guessed_at_a_bound_is_set_free(bound: int) -> None:
    """min 1/2 |x|^2 - c'x on [-1, 1]^3: guess: all at one bound. Other methods would hide it."""
    c = np.array([0.5, -0.25, 3.0])
    box = np.ones(3)
    problem = BoxQP(np.eye(3), -c, np.zeros((0, 3)), np.zeros(0), -box, box)
    answer = active_set_newton(problem, bound * box, np.zeros(0), np.full(3, bound, dtype=np.int8))
    assert answer is not None
    np.testing.assert_allclose(answer.x, [0.5, -0.25, 1.0], atol=1e-12)
