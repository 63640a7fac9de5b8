"""Paths over nu and K: each machine is the one that a single fit gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from companion.admm import active_set, quadratic, solve_qp
from companion.admm.kkt import BoxQP
from companion.admm.qp_engine import Neighbour
from companion.admm.quadratic import _symmetric_psd
from companion.certificates import verify
from companion.datasets import nine_points
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
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


def test_a_carried_product_is_computed_anew(monkeypatch):
    """Of 75 programs after the first three start from a product that was computed from the matrix."""
    X, y = two_clouds(120)
    fresh = []
    product = BoxQP.product
    monkeypatch.setattr(BoxQP, "product", lambda *args: (fresh.append(1), product(*args))[1])
    nu_path(X, y, [0.6], **RBF)
    alone = len(fresh)
    nu_path(X, y, np.full(76, 0.6), **RBF)
    assert len(fresh) == 2 * alone + 3


def test_the_factor_of_one_machine_predicts_the_next(monkeypatch):
    """Between two changes of the active set no system is factored at all."""
    X, y = two_clouds(120)
    one, other = (SVMs2prime(nu, **RBF).fit(X, y) for nu in (0.6, 0.6 + 1e-6))
    assert_array_equal(one.support_type1_, other.support_type1_)
    factored = []
    factor = active_set.factor_kkt
    monkeypatch.setattr(
        active_set, "factor_kkt", lambda *args: (factored.append(args[2].size), factor(*args))[1]
    )
    nu_path(X, y, [0.6 + 1e-6], **RBF)
    alone = len(factored)
    path = nu_path(X, y, [0.6, 0.6 + 1e-6], **RBF)
    assert len(factored) == 2 * alone
    assert_allclose(path[0].dual_coef_, one.dual_coef_, atol=1e-14)


def test_a_neighbour_is_not_used_for_another_program():
    """Another P, or another row of A: the factor at hand is of no use, and is not taken for one that is."""
    X, y = two_clouds(80)
    K = as_kernel("rbf", gamma=0.3)(X)
    P, ones, box = K * np.outer(y, y), np.ones((1, 80)), {"upper": 0.5, "assume_psd": True}
    rows = np.vstack([y, ones])
    near = Neighbour()
    solve_qp(P, np.zeros(80), rows, [0.0, 9.0], warm_start=near, **box)
    programs = [
        (2.0 * P, rows),
        (P, np.vstack([ones, X[:, :1].T])),
        (P, rows),
        (P + np.eye(80), rows),
    ]
    for matrix, A in programs:
        q, b = np.zeros(80), A @ np.full(80, 0.1)
        warm = solve_qp(matrix, q, A, b, warm_start=near, **box)
        cold = solve_qp(matrix, q, A, b, **box)
        assert warm.certificate.worst <= 1e-9
        assert_allclose(warm.x, cold.x, atol=1e-12)
        assert_allclose(warm.Px, matrix @ warm.x, atol=1e-12)


def test_a_neighbour_hides_no_bounds_that_leave_no_choice():
    """What presolve need not do again is known from P and A alone; b and the bounds are looked at each time."""
    X, y = two_clouds(40)
    P, rows = as_kernel("rbf", gamma=0.3)(X) * np.outer(y, y), np.vstack([y, np.ones(40)])
    near, q, options = Neighbour(), np.zeros(40), {"upper": 0.5, "assume_psd": True}
    solve_qp(P, q, rows, [0.0, 9.0], warm_start=near, **options)
    with pytest.raises(InfeasibleProblemError):
        solve_qp(P, q, rows, [0.0, 20.5], warm_start=near, **options)
    at_the_end = solve_qp(P, q, rows, [0.0, 20.0], warm_start=near, **options)
    assert_array_equal(at_the_end.x, 0.5)
    upper = np.where(np.arange(40) < 4, 0.0, 0.5)
    warm, cold = (
        solve_qp(P, q, rows, [0.0, 9.0], upper=upper, assume_psd=True, warm_start=start)
        for start in (near, None)
    )
    assert_allclose(warm.x, cold.x, atol=1e-12)
    assert not warm.x[:4].any()


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


@pytest.mark.parametrize("seed", [0, 77])
def test_where_the_start_from_a_neighbour_misses_the_machine_is_fitted_alone(seed: int) -> None:
    """Separable data: the objective is small beside K, and a part in 1e9 of it is little."""
    X = np.random.default_rng(seed).normal(size=(30, 2))
    y = np.sign(X[:, 0] + 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for machine in K_path(X, y, [1.0, 2.0]):
            assert machine.certificate_.ok
            alone = SVMs2(K=machine.K).fit(X, y)
            assert_allclose(machine.w_, alone.w_, rtol=1e-7)
            assert_allclose(machine.objective_, alone.objective_, rtol=1e-8)


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
