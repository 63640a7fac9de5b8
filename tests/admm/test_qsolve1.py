"""The text's ADMM routine: its printed digits, its iteration counts, its edge cases."""

from functools import cache

import mpmath
import numpy as np
import pytest

from companion.admm.quadratic import qsolve1, solve_qp
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from tests.refusals import refusals


def example(n):
    """Return P, q, A and b of Example 16.11 (n = 3) or 16.12 (n = 4)."""
    P = 4.0 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    A = np.array([[1.0, 1, -1, 0], [1, -1, -1, 0]])[:, :n]
    return P, -4.0 * np.ones(n), A, np.zeros(2)


EX_16_11, EX_16_12 = example(3), example(4)
EXAMPLES = {"16.11": EX_16_11, "16.12": EX_16_12}
BY_TOLERANCE = {  # for rho = 10
    "16.11": [15, 28, 42, 56, 69, 76, 83, 90],
    "16.12": [16, 30, 46, 62, 78, 87, 95, 103],
}
BY_RHO = {  # for the tolerance 1e-12
    "16.11": [9, 14, 19, 27, 35, 42, 49, 56, 70, 83, 149, 340],
    "16.12": [9, 15, 20, 29, 38, 46, 54, 62, 79, 95, 174, 412],
}


def run(example, tol=1e-12, max_iter=10_000, **options):
    return qsolve1(*example, tol_primal=tol, tol_dual=tol, max_iter=max_iter, **options)


@cache
def run_with_60_digits(name: str, rho: float, tol: float) -> tuple[list[float], list[float]]:
    """Run the routine without rounding to speak of; return the larger residual of each step, and the last x."""
    P, q, A, b = EXAMPLES[name]
    m, n = A.shape
    with mpmath.workdps(60):
        KKT = np.block([[P + rho * np.eye(n), A.T], [A, np.zeros((m, m))]])
        inverse = np.array((mpmath.matrix(KKT.tolist()) ** -1).tolist())[:n]
        z, u = np.full(n, mpmath.mpf(1)), np.full(n, mpmath.mpf(1))
        u[0], residuals = mpmath.mpf(0), []
        while not residuals or residuals[-1] > tol:
            x = inverse @ np.concatenate([rho * (z - u) - q, b])
            previous, z = z, np.maximum(x + u, 0)
            u = u + x - z
            primal, dual = (mpmath.sqrt(sum(v * v)) for v in (x - z, rho * (z - previous)))
            residuals.append(max(primal, dual))
        return [float(r) for r in residuals], [float(v) for v in x]


def first_below(residuals: list[float], level: float) -> int:
    return 1 + int(np.argmax(np.array(residuals) <= level))


def is_the_count(found: int, name: str, rho: float, tol: float, count: int) -> bool:
    """Return whether `count` steps reach `tol` in exact arithmetic, and rounding alone tells `found` from it.

    A step rounds z, of the size 2, and rho (z - previous z) with it: 2 eps rho. The iteration multiplies an error
    by the rate of its residuals in each step, so all steps leave at most 2 eps rho / (1 - rate) in a residual. The
    routine stops at a step where the exact residual is within that of the tolerance, and at none before or after.
    """
    residuals, _ = run_with_60_digits(name, rho, tol / 4)
    rate = (residuals[-1] / residuals[-11]) ** 0.1 if len(residuals) > 20 else 0.5
    rounding = 2 * np.finfo(float).eps * rho / (1 - rate)
    earliest, latest = (first_below(residuals, tol + sign * rounding) for sign in (1, -1))
    assert rounding < tol / 2
    return first_below(residuals, tol) == count and earliest <= found <= latest


def test_example_16_11_printed_digits():
    result = run(EX_16_11)
    _, exact = run_with_60_digits("16.11", 10.0, 1e-12)
    assert f"{exact[0]:.15f}" == "1.000000000000149"
    # The text prints ...148 for the third coordinate; the exact value is the first one's.
    assert exact[2] == exact[0]
    assert result.x[[0, 2]] == pytest.approx(exact[0], abs=1e-15)
    assert abs(result.x[1]) < 1e-15
    assert result.status == "solved"
    assert result.objective == pytest.approx(-4.0, abs=1e-11)


def test_example_16_11_iterates_are_the_exact_fractions():
    for k, value in ((1, 9 / 14), (2, 54 / 49), (3, 368 / 343), (10, 1 + (5 / 7) ** 10 / 5)):
        with pytest.warns(ConvergenceWarning):
            result = qsolve1(*EX_16_11, max_iter=k)
        assert result.x == pytest.approx([value, 0.0, value], abs=1e-14)


def test_example_16_12_printed_digits():
    result = run(EX_16_12)
    _, exact = run_with_60_digits("16.12", 10.0, 1e-12)
    printed = ["0.903225806451495", "0.903225806451495", "0.774193548387264"]
    assert [f"{exact[i]:.15f}" for i in (0, 2, 3)] == printed
    assert result.x == pytest.approx(exact, abs=1e-15)
    for x in (result.x, result.history["z"], solve_qp(*EX_16_12).x):
        assert x == pytest.approx([28 / 31, 0, 28 / 31, 24 / 31], abs=1e-11)
    assert result.objective == pytest.approx(-160 / 31, abs=1e-11)


@pytest.mark.parametrize("name", EXAMPLES)
def test_iterations_by_tolerance(name):
    tolerances = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-11, 1e-12, 1e-13]
    for tol, count in zip(tolerances, BY_TOLERANCE[name], strict=True):
        assert is_the_count(run(EXAMPLES[name], tol).n_iter, name, 10.0, tol, count), tol


@pytest.mark.parametrize("name", EXAMPLES)
def test_iterations_by_rho(name):
    rhos = [0.1, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 50]
    for rho, count in zip(rhos, BY_RHO[name], strict=True):
        assert is_the_count(run(EXAMPLES[name], rho=rho).n_iter, name, rho, 1e-12, count), rho


def test_rate_of_example_16_12():
    """The larger eigenvalue of the step, where no bound is active, is (280 + 10 sqrt 2)/391."""
    P, _, A, _ = EX_16_12
    kkt = np.block([[P + 10 * np.eye(4), A.T], [A, np.zeros((2, 2))]])
    step = 10 * np.linalg.inv(kkt)[:4, :4]
    smaller, larger = (280 - 10 * np.sqrt(2)) / 391, (280 + 10 * np.sqrt(2)) / 391
    eigenvalues = np.linalg.eigvalsh((step + step.T) / 2)
    assert eigenvalues == pytest.approx([0, 0, smaller, larger], abs=1e-14)
    s = run(EX_16_12).history["dual_residual"]
    assert (s[79] / s[59]) ** (1 / 20) == pytest.approx(larger, abs=1e-3)


def test_cap_means_cap():
    with pytest.warns(ConvergenceWarning, match="82 iterations"):
        result = run(EX_16_11, max_iter=82)
    assert (result.n_iter, result.converged, result.status) == (82, False, "max_iter")
    assert run(EX_16_11, max_iter=83).converged


def test_a_stop_by_rounding_is_no_solution():
    """With rho = 1e16 steps end because P and q vanish beside it: small residuals prove nothing."""
    with pytest.warns(ConvergenceWarning, match="by rounding .* not at a solution"):
        result = qsolve1(*EX_16_11, rho=1e16)
    assert (result.converged, result.status) == (False, "rounding")
    assert run(EX_16_11, rho=100.0).status == "solved"


def test_dependent_rows_are_left_out():
    P, q, A, _ = EX_16_11
    doubled = qsolve1(P, q, np.vstack([A, A[0] + 2 * A[1], np.zeros(3)]), np.zeros(4))
    assert doubled.x == pytest.approx([1, 0, 1], abs=1e-9)
    assert doubled.y.shape == (4,)
    assert doubled.certificate.worst < 1e-9
    with pytest.raises(InfeasibleProblemError, match="no x satisfies A x = b"):
        qsolve1(P, q, np.vstack([A, A[0]]), [0, 0, 1])


test_bad_input = refusals(
    (lambda: qsolve1(*EX_16_11, tol_primal=-1.0), "tol_primal"),
    (lambda: qsolve1(np.diag([1.0, 1.0, -1.0]), *EX_16_11[1:]), "negative eigenvalue -1"),
)
