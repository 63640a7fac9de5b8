"""Paths over nu and K: each machine is the one that a single fit gives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.admm import quadratic
from companion.admm.quadratic import _symmetric_psd
from companion.datasets import nine_points
from companion.exceptions import InfeasibleProblemError
from companion.kernels import as_kernel
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


def test_a_precomputed_matrix_is_tested_once(monkeypatch):
    X, y = two_clouds(120)
    K, nus = as_kernel("rbf", gamma=0.3)(X), [0.7, 0.65, 0.6]
    tested = []
    monkeypatch.setattr(
        quadratic, "_symmetric_psd", lambda P: (tested.append(P.shape), _symmetric_psd(P))[1]
    )
    machines = nu_path(K, y, nus, kernel="precomputed")
    assert tested == [(120, 120)]
    for machine, single in zip(machines, nu_path(X, y, nus, **RBF)):
        assert machine.certificate_.ok
        assert_allclose(machine.dual_coef_, single.dual_coef_, atol=1e-12)


def test_a_path_over_an_indefinite_matrix_is_refused():
    K = np.diag([1.0, 1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match="positive"):
        nu_path(K, [1, 1, -1, -1], [0.9, 0.8], kernel="precomputed")


def test_most_later_machines_need_no_admm():
    X, y = two_clouds(300)
    machines = nu_path(X, y, np.linspace(0.8, 0.5, 30), **RBF)
    assert sum(machine.n_iter_ == 0 for machine in machines[1:]) >= 20


def test_one_value_and_repeated_values():
    data = nine_points()
    first, second = nu_path(data.X, data.y, [0.6, 0.6])
    assert_allclose(first.w_, second.w_)
    assert_allclose(nu_path(data.X, data.y, 0.6)[0].w_, first.w_)


def test_out_of_range():
    data = nine_points()
    with pytest.raises(InfeasibleProblemError, match="exceeds"):
        nu_path(data.X, data.y, [0.5, 0.95])
    with pytest.warns(DegenerateSolutionWarning):
        below = nu_path(data.X, data.y, [0.6, 0.1])[1]
    assert below.degenerate_
    with pytest.raises(ValueError, match="nu must be"):
        nu_path(data.X, data.y, [0.5, -0.1])
