"""Random fits of hard families, judged without rounding: what is certified is right."""

import warnings

import numpy as np
import pytest

from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from companion.svm import IndefiniteSVC, SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR
from tests.exact.judge import judge

KINDS = ("separable", "overlapping", "contradictory", "outlier", "units", "offset")
KERNELS = ("linear", "poly", "gaussian", "precomputed")
REGRESSIONS = (RidgeRegression, KernelRidge, Lasso, ElasticNet)
MACHINES = (SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5)
TUBES = (EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR)
ALL = (*REGRESSIONS, *MACHINES, *TUBES, IndefiniteSVC)


def points(kind, rng):
    """Return points, labels and values: 6 to 24 points in 1 to 3 columns."""
    m, n = int(rng.integers(6, 25)), int(rng.integers(1, 4))
    X, y = rng.standard_normal((m, n)), np.where(np.arange(m) % 2, 1, -1)
    if kind == "separable":
        X[:, 0] += 6.0 * y
    elif kind == "contradictory":
        X[-3:] = X[:3]
    elif kind == "outlier":
        X[0, 0] = 1e6
    elif kind == "units":
        X *= 10.0 ** rng.integers(-5, 6, n)
    elif kind == "offset":
        X += 1e6
    noise = 10.0 ** rng.uniform(-8, 0) * rng.standard_normal(m)
    return X, y, (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal(n) + noise + 1.0


def problem(maker, kind, rng):
    """Return an estimator with prices from 1e-8 to 1e20 of their natural unit, and its data."""
    X, labels, values = points(kind, rng)
    if maker in (RidgeRegression, Lasso, ElasticNet):
        size = float(((X - X.mean(axis=0)) ** 2).sum())
        K, intercept = (
            size * 10.0 ** rng.uniform(-10, 3),
            str(rng.choice(["none", "free", "penalized"])),
        )
        tau = float(np.abs((X - X.mean(axis=0)).T @ values).max()) * 10.0 ** rng.uniform(-10, 0.5)
        prices = {RidgeRegression: (K,), Lasso: (tau,), ElasticNet: (K, tau)}[maker]
        return maker(*prices, intercept=intercept), X, values
    if maker is IndefiniteSVC:
        K0 = (X * np.where(np.arange(n := X.shape[1]) % 2, -1.0, 1.0)) @ X.T - (n == 1) * np.mean(
            X * X
        )
        K0, size = (K0 + K0.T) / 2, float(np.abs(K0).max())
        C = 10.0 ** rng.uniform(-8, 6) / size
        rho = C / size * 10.0 ** rng.uniform(-2, 2)
        return IndefiniteSVC(C, rho, kernel="precomputed", max_iter=300), K0, labels
    kernel = str(rng.choice(KERNELS))
    if kernel == "precomputed":
        X = X @ X.T
    diagonal = X.diagonal() if kernel == "precomputed" else {
        "linear": (X * X).sum(axis=1), "poly": ((X * X).sum(axis=1) + 1) ** 2, "gaussian": np.ones(len(X)),
    }[kernel]  # fmt: skip
    options = {"kernel": kernel, "kernel_params": {"degree": 2} if kernel == "poly" else None}
    if maker is KernelRidge:
        K = float(diagonal.sum()) * 10.0 ** rng.uniform(-10, 3)
        return KernelRidge(K, intercept=str(rng.choice(["none", "free"])), **options), X, values
    price = 10.0 ** rng.uniform(-8, 20) / float(diagonal.mean())
    nu = float(rng.uniform(0.1, 0.9))
    if maker in TUBES:
        own = {"epsilon": 0.1} if maker is EpsilonSVR else {"nu": nu}
        return maker(C=price, **own, **options), X, values
    fewest = min(np.sum(labels > 0), np.sum(labels < 0))
    if maker is SVMs1:
        return SVMs1(K=float(rng.uniform(0.5, 3.0)) / fewest, **options), X, labels
    nu *= 2 * fewest / len(labels)
    own = (
        {"nu": nu}
        if maker is not SVMs2
        else {"class_weight": {1: float(10.0 ** rng.uniform(-2, 2))}}
    )
    return maker(K=price, **own, **options), X, labels


def outcome(maker, kind, seed):
    """Return what became of a fit: "right" or "wrong" where it is certified, "flagged" or "refused" where not."""
    model, X, y = problem(maker, kind, np.random.default_rng([seed, KINDS.index(kind)]))
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except ValueError:
            return "refused"
    if not model.certificate_.ok:
        return "flagged"
    if getattr(model, "degenerate_", False):  # w = 0 is proved, and nothing is predicted
        return "right"
    return "right" if judge(model, X, y) <= model.certificate_.tolerance else "wrong"


@pytest.mark.parametrize("maker", ALL)
def test_what_is_certified_is_right(maker):
    found = [outcome(maker, kind, seed) for kind in KINDS for seed in range(3)]
    assert "wrong" not in found
    assert found.count("right") >= 9


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maker", ALL)
def test_what_is_certified_is_right_in_hundreds_of_fits(maker, kind):
    assert "wrong" not in [outcome(maker, kind, seed) for seed in range(100, 200)]
