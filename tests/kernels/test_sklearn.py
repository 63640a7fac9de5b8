"""Kernels as `kernel=` of scikit-learn's estimators."""

from numpy.testing import assert_allclose
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from companion.kernels import Gaussian, Linear

X, y = load_iris(return_X_y=True)
X, y = X[::5], y[::5]
COMBINED = (Linear() + 1) ** 2 * Gaussian(2.0)


def test_a_combined_kernel_equals_its_matrix():
    """SVC hands over matrices, KernelRidge one pair of rows at a time."""
    K, new = COMBINED(X), COMBINED(X[:7] + 0.1, X)
    for model in (SVC(), kernel_ridge.KernelRidge(alpha=0.1)):
        ours = clone(model).set_params(kernel=COMBINED).fit(X, y)
        matrix = clone(model).set_params(kernel="precomputed").fit(K, y)
        assert_allclose(ours.predict(X[:7] + 0.1), matrix.predict(new), atol=1e-8)
    assert_allclose(pairwise_kernels(X, metric=COMBINED), K, rtol=1e-12)


def test_clone_and_search():
    """Kernels are parameters like others: cloned, and pickled to other processes."""
    grid = {"kernel": [Gaussian(0.01), COMBINED], "C": [1.0, 10.0]}
    search = GridSearchCV(SVC(), grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_["kernel"] == COMBINED == clone(search.best_estimator_).kernel
    assert search.best_score_ > 0.8
