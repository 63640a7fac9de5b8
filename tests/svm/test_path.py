"""Paths over nu and K: each machine is the one that a single fit gives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.datasets import nine_points
from companion.exceptions import InfeasibleProblemError
from companion.svm import DegenerateSolutionWarning, K_path, SVMs2, SVMs2prime, nu_path

RBF = {"kernel": "rbf", "kernel_params": {"gamma": 0.3}}


def two_clouds(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 4 < 2, 1, -1)
    return rng.standard_normal((n, 3)) + 0.5 * y[:, None], y


@pytest.mark.parametrize("options", [{}, RBF], ids=["linear", "rbf"])
@pytest.mark.parametrize("n", [40, 600])
def test_nu_path_gives_single_fits(options, n):
    X, y = two_clouds(n)
    nus = [0.7, 0.62, 0.8, 0.75]
    for nu, machine in zip(nus, nu_path(X, y, nus, **options)):
        single = SVMs2prime(nu, **options).fit(X, y)
        assert machine.nu == nu
        assert machine.certificate_.ok
        assert_allclose(machine.objective_, single.objective_, rtol=1e-10)
        assert_allclose(machine.decision_function(X), single.decision_function(X), atol=1e-9)
        assert machine.n_features_in_ == 3


@pytest.mark.parametrize("n", [40, 600])
def test_K_path_gives_single_fits(n):
    X, y = two_clouds(n)
    Ks = np.geomspace(0.1, 10.0, 6)
    for K, machine in zip(Ks, K_path(X, y, Ks, **RBF)):
        single = SVMs2(K, **RBF).fit(X, y)
        assert_allclose(machine.objective_, single.objective_, rtol=1e-10)
        assert_allclose(machine.decision_function(X), single.decision_function(X), atol=1e-8)


def test_out_of_range():
    data = nine_points()
    with pytest.raises(InfeasibleProblemError, match="exceeds"):
        nu_path(data.X, data.y, [0.5, 0.95])
    with pytest.warns(DegenerateSolutionWarning):
        below = nu_path(data.X, data.y, [0.6, 0.1])[1]
    assert below.degenerate_
    with pytest.raises(ValueError, match="nu must be"):
        nu_path(data.X, data.y, [0.5, -0.1])
