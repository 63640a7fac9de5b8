"""The finish of the kernel machines' duals: against Clarabel, from good guesses and from bad ones."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from companion.arithmetic import is_symmetric
from companion.engine.finish import Finished, finish
from companion.engine.guess import guess_machine
from companion.kernels import Gaussian, KernelPCA
from companion.regression import KernelRidge
from companion.svm import SVMs2


class Rows(np.ndarray):
    """An array whose rows can be asked for."""

    product, rows = None, np.ndarray.__getitem__


def _data(rng: np.random.Generator, kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and their signs."""
    s = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, 2)) + 0.6 * s[:, None]
    if kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    elif kind == "grid":
        X = np.round(X)
    elif kind == "collinear":
        X[:, 1] = X[:, 0]
    elif kind == "one red point":
        s = np.where(np.arange(n) == 3, -1.0, 1.0)
    return X, s


def _program(form: str, X: np.ndarray, s: np.ndarray) -> tuple[Any, ...]:
    """Return P, q, A, c and the bound of a program of Chapter 18."""
    n, few = s.size, float(min((s > 0).sum(), (s < 0).sum()))
    P, S, zero = Gaussian(1.0)(X) * np.outer(s, s), np.outer(s, s), np.zeros(n)
    both, D = np.array([s, np.ones(n)]), 0.2 * np.eye(n)
    return {
        "s2": (P, -np.ones(n), both[:1], np.zeros(1), 3.0),
        "s2'": (P, zero, both, np.array([0.0, 1.3 * few]), 1.0),
        "s3": (P + S, zero, both[1:], np.array([0.6 * n]), 1.0),
        "s4": (P + D, zero, both, np.array([0.0, 1.0]), np.inf),
        "s5": (P + S + D, zero, both[1:], np.ones(1), np.inf),
    }[form]


def _ask(form: str, s: np.ndarray, program: tuple[Any, ...]) -> Finished | None:
    P, q, A, c, upper = program
    balanced, total = form not in ("s3", "s5"), None if form == "s2" else float(c[-1])
    K, options = P * np.outer(s, s) if balanced else P, {"upper": upper, "total": total}
    guess = guess_machine(K, s, {"kernel": "precomputed"}, balanced=balanced, **options)
    assert guess is not None
    return finish(P.view(Rows), q, A, c, upper, guess.a, guess.state)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("form", ["s2", "s2'", "s3", "s4", "s5"])
@pytest.mark.parametrize("kind", ["cloud", "duplicates", "grid", "collinear", "one red point"])
def test_the_finish_has_the_objective_of_clarabel_and_meets_the_kkt_conditions(
    kind: str, form: str
) -> None:
    X, s = _data(np.random.default_rng(7), kind, 30)
    P, q, A, c, upper = program = _program(form, X, s)
    done = _ask(form, s, program)
    if done is None:  # the fallback is for these; a well-placed cloud needs none
        assert kind != "cloud"
        return
    a, g = done.a, done.Pa + q + A.T @ done.y
    assert (a >= 0.0).all()
    assert (a <= upper).all()
    np.testing.assert_allclose(A @ a, c, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(done.Pa, P @ a, atol=1e-12 * a.sum())
    small = 1e-10 * (1.0 + a.sum())
    assert (g[a == 0.0] >= -small).all()
    assert (g[a == upper] <= small).all()
    assert (np.abs(g[(a > 0.0) & (a < upper)]) <= small).all()

    x = cp.Variable(s.size, nonneg=True)
    square = cp.quad_form(x, cp.psd_wrap(P))
    limits = [A @ x == c] + ([x <= upper] if np.isfinite(upper) else [])
    value = cp.Problem(cp.Minimize(0.5 * square + q @ x), limits).solve(solver=cp.CLARABEL)
    assert 0.5 * a @ done.Pa + q @ a == pytest.approx(value, rel=1e-6, abs=1e-7)


def test_a_wrong_guess_is_corrected_or_given_up() -> None:
    """A wrong state is moved, or None is the answer; multipliers at a bound end exactly there."""
    X, s = _data(np.random.default_rng(3), "cloud", 60)
    P, q, A, c, upper = program = _program("s2", X, s)
    right = _ask("s2", s, program)
    assert right is not None
    state = np.where(right.a == 0.0, -1, np.where(right.a == upper, 1, 0)).astype(np.int8)
    corrected = 0
    for i in range(60):
        wrong = state.copy()
        wrong[i] = 0 if state[i] else -1
        found = finish(P.view(Rows), q, A, c, upper, right.a, wrong)
        if found is None:
            continue
        corrected += 1
        np.testing.assert_allclose(found.a, right.a, atol=1e-10)
        assert ((found.a == upper) == (right.a == upper)).all()
    assert corrected > 30


# For 44 and 710 the sum of the cosines nearly vanishes.
@pytest.mark.parametrize("n", [2, 44, 710, 1000])
def test_one_entry_that_differs_from_its_mirror_image_is_seen(n: int) -> None:
    """The rounding of a product is some n eps of the matrix, far below 1e-10; 1e-6 of it is not."""
    X, ones = np.random.default_rng(n).standard_normal((n, 5)), np.ones((n, n))
    for P in (ones, np.eye(n), X @ X.T, ones - np.eye(n)):
        assert is_symmetric(P)
        P[0, -1] += 1e-6 * np.abs(P).max()
        assert not is_symmetric(P)


@pytest.mark.parametrize("model", [SVMs2, KernelRidge, KernelPCA])
def test_a_large_gram_matrix_with_one_wrong_entry_is_refused(model: type) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 3)), np.where(np.arange(1000) % 2, 1, -1)
    K = Gaussian(1.0)(X)
    K[3, 7] += 1e-3
    with pytest.raises(ValueError, match="symmetric"):
        model(kernel="precomputed").fit(K, y)
