"""Whatever a prediction, a count or a reader takes from a fitted estimator: altered, the exact check says no."""

from copy import copy

import numpy as np
import pytest

from companion import svm
from companion.kernels import KernelPCA
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR
from tests.exact import verify

RNG = np.random.default_rng(0)
SIGNS = np.repeat([1.0, -1.0], 12)
CLOUDS = RNG.standard_normal((24, 2)) + SIGNS[:, None]
VALUES = CLOUDS[:, 0] - 0.5 * CLOUDS[:, 1] + 0.4 * RNG.standard_normal(24) + 3.0
LABELS = np.where(SIGNS > 0, "spam", "ham")

OF_WEIGHTS = "w_ b_"
OF_MULTIPLIERS = "dual_coef_ X_fit_ b_"
OF_MACHINES = "classes_ lambda_ mu_ epsilon_ xi_ support_ norm_ X_fit_"
OF_TUBES = "lambda_ mu_ xi_ xi_prime_ residuals_ support_ norm_ dual_coef_ X_fit_"
OF_SADDLES = "alpha_ multipliers_ proxy_kernel_ objective_ gap_ classes_ lambda_ mu_ support_ dual_coef_ b_ X_fit_"
MACHINES = [HardMarginSVC(), SVMs1(K=0.12), SVMs2(K=0.7)]
MACHINES += [kind(nu=0.5) for kind in (SVMs2prime, SVMs3, SVMs4, SVMs5)]
TUBES = [kind(0.4, C=3.0) for kind in (NuSVR, EpsilonSVR, NuSVRPenalizedBias, QuadraticNuSVR)]
LINEAR = {
    RidgeRegression(K=0.5): "xi_ alpha_", Lasso(tau=2.0): "xi_ support_", ElasticNet(K=0.3, tau=1.0): "xi_ support_",
}  # fmt: skip


def cases():
    for kernel, ways in (("linear", OF_WEIGHTS), ("rbf", OF_MULTIPLIERS)):
        for model in MACHINES:
            more = "eta_ dual_objective_" if isinstance(model, SVMs1) else "eta_"
            yield model, kernel, LABELS, f"{OF_MACHINES} {ways} {more}"
        yield SVMs2l(), kernel, LABELS, f"{OF_MACHINES} {ways}"
        for model in TUBES:
            yield model, kernel, VALUES, f"{OF_TUBES} {ways} epsilon_"
        own = "w_" if kernel == "linear" else "alpha_"
        yield KernelRidge(K=0.5, intercept="free"), kernel, VALUES, f"{own} b_ xi_ X_fit_"
        yield KernelPCA(2), kernel, None, "eigenvalues_ eigenvectors_ X_fit_ alpha_ _means"
    yield svm.IndefiniteSVC(C=2.0), "sigmoid", LABELS, OF_SADDLES
    for model, attributes in LINEAR.items():
        yield model, None, VALUES, f"{OF_WEIGHTS} {attributes}"


def altered(value, name):
    """Return what was stored with one part changed by a thousandth, or with another member."""
    if name == "classes_":
        return [value[::-1], np.array(["ham", "eggs"])]
    if name == "support_":
        return [value[1:], np.append(value, 0)] if value.size else [np.zeros(1, dtype=int)]
    if name == "gap_":
        return [value - 1.0]
    if np.ndim(value) == 0:
        return [value + 1e-3 * max(abs(value), 1.0), np.nan]
    i = np.unravel_index(int(np.argmax(np.abs(value))), value.shape)
    grown, lost = value.copy(), value.copy()
    grown[i] += 1e-3 * (abs(value[i]) or 1.0)
    lost[i] = np.nan
    return [grown, lost]


@pytest.mark.parametrize(("model", "kernel", "y", "attributes"), list(cases()))
def test_every_altered_attribute_is_found(model, kernel, y, attributes):
    X = CLOUDS * 3.0 if isinstance(model, HardMarginSVC) and kernel == "linear" else CLOUDS
    if isinstance(model, HardMarginSVC):
        X = X + 2.0 * SIGNS[:, None]
    if kernel is not None:
        more = {"kernel_params": {"coef0": -1.0}} if kernel == "sigmoid" else {}
        model = model.set_params(kernel=kernel, **more)
    fitted = model.fit(X) if y is None else model.fit(X, y)
    assert verify(fitted, X, y).ok
    for name in attributes.split():
        value = getattr(fitted, name)
        changes = altered(value, name)
        for change in changes if y is not None else changes[:1]:  # components refuse nan themselves
            wrong = copy(fitted)
            setattr(wrong, name, change)
            assert not verify(wrong, X, y).ok, (name, change)
