"""Paths over nu and K: each machine is the one that a single fit gives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.datasets import nine_points
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from companion.svm import DegenerateSolutionWarning, K_path, SVMs2, SVMs2prime, nu_path
from tests.exact import verify

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


def test_a_path_over_an_indefinite_matrix_is_refused():
    K = np.diag([1.0, 1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match="positive"):
        nu_path(K, [1, 1, -1, -1], [0.9, 0.8], kernel="precomputed")


def with_duplicates() -> tuple[np.ndarray, np.ndarray]:
    """Points twice and three times, and one place with both colours."""
    X, y = two_clouds(60)
    X = np.vstack([X, X[:20], X[:10], X[:1]])
    return X, np.concatenate([y, y[:20], y[:10], -y[:1]])


@pytest.mark.parametrize("options", [{}, RBF], ids=["linear", "rbf"])
@pytest.mark.parametrize("data", [two_clouds(150), with_duplicates()], ids=["clouds", "duplicates"])
def test_random_nu_up_to_the_largest(options, data):
    """At the largest nu all points of one colour are fixed; 2k/n leaves no support vector of type 1."""
    X, y = data
    n, fewest = len(y), min(np.count_nonzero(y == 1), np.count_nonzero(y == -1))
    largest = 2 * fewest / n
    nus = np.random.default_rng(7).uniform(0.7, largest, 25)
    nus = np.concatenate([nus, [largest, 2 * (fewest - 3) / n, np.nextafter(largest, 0.0)]])
    for nu, machine in zip(nus, nu_path(X, y, nus, **options)):
        single = SVMs2prime(nu, **options).fit(X, y)
        assert machine.certificate_.worst <= 1e-9
        assert_allclose(machine.objective_, single.objective_, rtol=1e-9)
        assert_allclose(machine.norm_, single.norm_, rtol=1e-7)
        assert_allclose(machine.b_interval_, single.b_interval_, atol=1e-8)
        assert_allclose(machine.eta_interval_, single.eta_interval_, rtol=1e-7)


@pytest.mark.parametrize("machines", ["nu", "K"])
def test_certificates_are_true(machines):
    """P x is carried along the path; the certificates agree with exact arithmetic on the data all the same."""
    X, y = with_duplicates()
    path = (
        nu_path(X, y, np.linspace(0.6, 0.9, 24), **RBF)
        if machines == "nu"
        else K_path(X, y, np.geomspace(0.05, 5.0, 24), **RBF)
    )
    for finding in verify(path, X, y):
        assert finding.ok
        assert finding.agrees


def test_out_of_range():
    data = nine_points()
    with pytest.raises(InfeasibleProblemError, match="exceeds"):
        nu_path(data.X, data.y, [0.5, 0.95])
    with pytest.warns(DegenerateSolutionWarning):
        below = nu_path(data.X, data.y, [0.6, 0.1])[1]
    assert below.degenerate_
    with pytest.raises(ValueError, match="nu must be"):
        nu_path(data.X, data.y, [0.5, -0.1])


def test_warnings_point_at_the_caller() -> None:
    data = nine_points()
    with pytest.warns(DegenerateSolutionWarning) as of_path:
        nu_path(data.X, data.y, [0.01])
    with pytest.warns(DegenerateSolutionWarning) as alone:
        SVMs2prime(nu=0.01).fit(data.X, data.y)
    with pytest.warns(ConvergenceWarning) as missed:
        K_path(1e4 * data.X, data.y, [1e9], tol=1e-16)
    for record in (of_path, alone, missed):
        assert {warning.filename for warning in record} == {__file__}
