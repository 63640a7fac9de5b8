"""Kernel PCA (Section 17.4) against scikit-learn's, PCA, explicit features and exact values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import decomposition
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from companion.datasets import two_circles
from companion.exceptions import ConvergenceWarning
from companion.kernels.pca import KernelPCA
from companion.kernels.vectors import FeatureMap, Gaussian, Polynomial, Sigmoid
from tests.refusals import refusals


@parametrize_with_checks([KernelPCA(), KernelPCA(1, kernel=Polynomial(2) + Gaussian(3.0))])
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def up_to_sign(A, B):
    """Return the largest difference of two matrices, the sign of each column being free."""
    return max(min(np.abs(a - b).max(), np.abs(a + b).max()) for a, b in zip(A.T, B.T, strict=True))


def data(n=40, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.arange(1, d + 1)


QUADRATIC = {"gamma": 0.1, "degree": 2, "coef0": 1.0}


@pytest.mark.parametrize(
    ("kernel", "params"), [("rbf", {"gamma": 0.05}), ("poly", QUADRATIC), ("linear", {})]
)
@pytest.mark.parametrize("n_components", [1, 4])
def test_agrees_with_scikit_learn(kernel, params, n_components):
    X, new = data(), data(seed=1)
    ours = KernelPCA(n_components, kernel=kernel, kernel_params=params)
    theirs = decomposition.KernelPCA(n_components, kernel=kernel, **params)
    assert up_to_sign(ours.fit_transform(X), theirs.fit_transform(X)) < 1e-9
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    assert up_to_sign(ours.transform(new), theirs.transform(new)) < 1e-9


def test_linear_kernel_is_pca():
    X, new = data(), data(seed=1)
    ours, theirs = KernelPCA().fit(X), decomposition.PCA().fit(X)
    ratio, first_two = theirs.explained_variance_ratio_, KernelPCA(2).fit(X)
    assert ours.n_components_ == 5
    assert_allclose(ours.explained_variance_, theirs.explained_variance_)
    assert_allclose(ours.explained_variance_ratio_, ratio)
    assert_allclose(first_two.explained_variance_ratio_, ratio[:2])
    assert up_to_sign(ours.transform(new), theirs.transform(new)) < 1e-10


def test_three_points_exactly():
    """x = 0, 1, 2 with (xy + 1)^2: eigenvalues (19 +- sqrt(337))/3."""
    pca = KernelPCA(kernel=Polynomial(2, R=1.0)).fit([[0.0], [1.0], [2.0]])
    assert_allclose(pca.eigenvalues_, (19 + np.array([1, -1]) * np.sqrt(337)) / 3)


def test_the_certificate_sees_a_larger_component_left_out():
    pca = KernelPCA(3, kernel=Gaussian(4.0)).fit(data())
    assert pca.certificate_.ok
    pca.eigenvalues_, pca.eigenvectors_ = pca.eigenvalues_[1:], pca.eigenvectors_[:, 1:]
    for pca.n_components in (2, None):
        assert pca.certificate_.gap > 0.1
        assert not pca.certificate_.ok


def test_few_components_are_the_first_of_all():
    """And none is missed on a regular polygon, where the eigenvalues come in pairs."""
    for X, width in ((data(200, 3), 4.0), (two_circles().u, 1.0)):
        full = KernelPCA(kernel=Gaussian(width)).fit(X)
        for r in (1, 2, 3, 5):
            few = KernelPCA(r, kernel=Gaussian(width)).fit(X)
            assert_allclose(
                few.eigenvalues_, full.eigenvalues_[:r], rtol=1e-8, err_msg=f"{r} of {len(X)}"
            )


def test_signs_are_deterministic():
    V = KernelPCA(3, kernel=Gaussian(5.0)).fit(data()).eigenvectors_
    assert (V[np.argmax(np.abs(V), axis=0), range(3)] > 0).all()
    antipodal = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    assert_allclose(KernelPCA(1).fit_transform(antipodal)[:, 0], [1, -1, 0, 0], atol=1e-12)


def test_number_of_components_is_at_most_the_rank():
    X = data(30, 2)
    assert KernelPCA(10).fit(X).n_components_ == 2
    pca = KernelPCA(kernel="poly", kernel_params={"degree": 2}).fit(X)
    assert pca.n_components_ == 5  # C(2+2, 2) - 1: the constant feature does not vary
    assert pca.transform(X).shape == (30, 5)
    assert list(pca.get_feature_names_out()) == [f"kernelpca{i}" for i in range(5)]


def fit(kernel, X):
    return lambda: KernelPCA(kernel=kernel).fit(X)


test_errors = refusals(
    (fit("linear", np.ones((4, 2))), "same image"),
    (fit("rbf", np.ones((4, 2))), "same image"),
    (fit(Sigmoid(1.0, -1.0), data(30, 2)), "positive semidefinite"),
    (fit(Polynomial(9), 1e60 * np.eye(3)), "overflow"),
    (fit(FeatureMap(lambda x: 1j * x[:1]), np.eye(3)), "real kernel"),
    (fit(lambda X, Y: X @ Y.T * (1 + (X > Y.T)), [[1.0], [2.0], [4.0]]), "symmetric kernel"),
)


def test_points_far_from_the_origin_have_lost_digits():
    """Centring takes them, and the certificate says so."""
    with pytest.warns(ConvergenceWarning, match="error of") as heard:
        pca = KernelPCA().fit(1e6 + data(20, 2))
    assert heard[0].filename == __file__
    assert pca.certificate_.dual_residual > 1e-7
    assert KernelPCA().fit(data(20, 2)).certificate_.ok


FLOWERS, SPECIES = load_iris(return_X_y=True)


def test_a_precomputed_matrix_is_sliced_by_rows_and_columns():
    k = Gaussian(1.0)
    pipeline = make_pipeline(KernelPCA(2, kernel=k), LogisticRegression())
    scores = cross_val_score(pipeline, FLOWERS, SPECIES, cv=3)
    pipeline.set_params(kernelpca__kernel="precomputed")
    assert_allclose(cross_val_score(pipeline, k(FLOWERS), SPECIES, cv=3), scores, atol=1e-12)
