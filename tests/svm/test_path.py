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
@pytest.mark.parametrize(
    ("path", "machine", "values"),
    [(nu_path, SVMs2prime, [0.7, 0.62, 0.8, 0.75]), (K_path, SVMs2, [0.1, 0.25, 1.0, 4.0])],
)
def test_path_gives_single_fits(path, machine, values, n, options):
    X, y = two_clouds(n)
    for value, found in zip(values, path(X, y, values, **options)):
        single = machine(value, **options).fit(X, y)
        assert (found.get_params(), found.n_features_in_) == (single.get_params(), 3)
        assert found.certificate_.ok
        assert_allclose(found.objective_, single.objective_, rtol=1e-10)
        assert_allclose(found.decision_function(X), single.decision_function(X), atol=1e-8)


def test_out_of_range():
    data = nine_points()
    with pytest.raises(InfeasibleProblemError, match="exceeds"):
        nu_path(data.X, data.y, [0.5, 0.95])
    with pytest.warns(DegenerateSolutionWarning):
        below = nu_path(data.X, data.y, [0.6, 0.1])[1]
    assert below.degenerate_
    with pytest.raises(ValueError, match="nu must be"):
        nu_path(data.X, data.y, [0.5, -0.1])
