"""The kernel algebra: values, closure rules on random data, failure modes, and kernels as values."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from companion.arithmetic import EPS
from companion.kernels import Bilinear, FeatureMap, Gaussian, Linear, Polynomial, Sigmoid, as_kernel
from companion.kernels.functions import Constant
from companion.kernels.given import FromFunction
from companion.kernels.gram import gram, is_positive_definite
from companion.regression import KernelRidge
from tests.kernels import for_all, normal, seeds
from tests.refusals import refusals

real_and_complex = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])


def points(seed, is_complex=False, n=7, d=3):
    X = normal(seed, n, d, is_complex=is_complex)
    X[-1] = X[0]  # a repeated point: Gram matrices of distinct points only would be too easy
    return X


def phase(x):
    return np.array([np.exp(1j * x[0].real), x[1] ** 2, 1.0])


def halves(x):
    return x[:2] / 2


WITH_FEATURES = [
    Linear(), Polynomial(3, R=0.5, gamma=0.7), Polynomial(2, R=0.0), Constant(2.5), FeatureMap(phase),
    Bilinear([[2, 1, 0], [1, 2, 0], [0, 0, 0]]), Linear() + 2 * FeatureMap(phase), Linear() * FeatureMap(phase),
    (Linear() + 2) ** 3, Linear().polynomial([1, 0, 2, 0.5]), Polynomial(2).compose(halves), Polynomial(2).normalized(),
]  # fmt: skip
WITHOUT = [
    Gaussian(1.3), Linear() + Gaussian(0.8) + 1, 3 * Gaussian(2.0), Linear() * Gaussian(2.0) * FeatureMap(phase),
    Gaussian(1.0).polynomial([1, 0, 2, 0.5]), (0.1 * Linear()).exp(), Polynomial(2, R=1.0).gaussian(3.0),
    FromFunction(lambda x, y: np.vdot(y, x) ** 2, positive_definite=True),
]  # fmt: skip
every = pytest.mark.parametrize("k", [*WITH_FEATURES, *WITHOUT], ids=repr)


@every
@real_and_complex
def test_matrix_rows_and_pairs_agree(k, is_complex):
    X, Y = points(0, is_complex), points(1, is_complex, n=4)
    K = k(X, Y)
    assert_allclose(K, [[k(x, y) for y in Y] for x in X], atol=1e-12)
    assert_allclose(k(X), k(X, X.copy()), atol=1e-12)
    assert_allclose(k(X[0], Y), K[0], atol=1e-12)
    assert_allclose(k(X, Y[1]), K[:, 1], atol=1e-12)
    assert_allclose(k.diagonal(X), np.diag(k(X)), atol=1e-12)
    assert isinstance(k(X[0], X[0]), (float, complex))


@every
@real_and_complex
def test_every_matrix_is_hermitian_and_positive_definite(k, is_complex):
    assert is_positive_definite(k(points(2, is_complex, n=9)))
    assert k.positive_definite is True


@every
@real_and_complex
def test_features_reproduce_the_kernel(k, is_complex):
    X, Y = points(5, is_complex), points(6, is_complex, n=4)
    Phi = k.features(X)
    assert (Phi is None) == (k in WITHOUT)
    if Phi is not None:
        assert_allclose(Phi @ k.features(Y).conj().T, k(X, Y), atol=1e-10)
        assert k.features(X, limit=Phi.shape[1]) is not None
        assert k.features(X, limit=Phi.shape[1] - 1) is None


def random_features(seed):
    """A random complex (or real) feature map of R^3 into C^4."""
    A = normal(seed, 3, 4, is_complex=seed % 2)
    return FeatureMap(lambda x: np.sin(x @ A / 5) + 0.3)


@for_all(seeds, st.booleans())
def test_closure_rules(seed, is_complex):
    X = points(seed, is_complex)
    k1, k2 = random_features(seed), random_features(seed + 1)
    K1, K2 = k1(X), k2(X)
    a, *c = np.random.default_rng(seed).uniform(0, [3, 1, 1, 1, 1]).tolist()
    d = K1.diagonal().real
    expected = {
        k1 + k2: K1 + K2, a * k1: a * K1, k1 * k2: K1 * K2, k1**3: K1**3,
        k1.polynomial(c): c[0] + c[1] * K1 + c[2] * K1**2 + c[3] * K1**3,
        (k1 / 50).exp(): np.exp(K1 / 50), k1.gaussian(2.0): np.exp(-(d[:, None] + d - 2 * K1) / 8),
        k1.normalized(): K1 / np.sqrt(d[:, None] * d),
    }  # fmt: skip
    for kernel, K in expected.items():
        assert_allclose(kernel(X), K, rtol=1e-9, atol=1e-9, err_msg=repr(kernel))
        assert is_positive_definite(K, tol=1e-11), kernel


def test_gaussian_of_a_kernel_is_the_gaussian_of_its_features():
    """The remark after Definition 17.4."""
    X = points(1)
    for k in (Linear(), Polynomial(2, R=1.0)):
        assert_allclose(k.gaussian(3.0)(X), Gaussian(3.0)(k.features(X)), atol=1e-13)
        near = 1e3 + 1e-6 * X  # the distances round to either side of zero
        assert k.gaussian(300.0)(near).max() <= 1.0


def test_hermitian_values_and_index_order():
    """k(X, Y)[i, j] = k(x_i, y_j); the text's Gram matrix is K_S = (k(x_j, x_i))."""
    X, k = points(0, is_complex=True), Linear()
    assert k(X)[0, 1] == pytest.approx(np.sum(X[0] * X[1].conj()))
    K, u = gram(k, X), np.arange(7) + 1j
    assert_array_equal(K, k(X).T)
    square = np.linalg.norm(u @ X) ** 2  # |sum u_i phi(x_i)|^2
    assert np.vdot(u, K @ u).real == pytest.approx(square)
    assert abs(np.vdot(u, k(X) @ u).real - square) > 1.0  # the other order is not it


LINEAR = Linear()
test_expressions_that_are_no_kernels = refusals(
    (lambda: -1 * LINEAR, "17.6"), (lambda: LINEAR - LINEAR, "difference"),
    (lambda: LINEAR + (-1), "17.5"), (lambda: LINEAR**-1, "integer >= 0"),
    (lambda: LINEAR / 0, "> 0"), (lambda: LINEAR.gaussian(0.0), "sigma"), (lambda: LINEAR.features([1.0], -1), "limit"),
    (lambda: LINEAR.polynomial([3, -1]), r"c_1 of Proposition 17\.7 \(1\) must .* >= 0, got -1"),
    (lambda: Polynomial(0), "d must be"), (lambda: Polynomial(2, gamma=0.0), "gamma"),
    (lambda: Bilinear([[1, 1], [0, 1]]), "B must be symmetric"), (lambda: Bilinear([[1, 2]]), "square"),
    (lambda: Bilinear([[1, 2], [2, 1]]), "eigenvalue -1"),
    (lambda: LINEAR + "k", "must be", TypeError), (lambda: LINEAR * [1, 2], "must be", TypeError),
    (lambda: LINEAR**0.5, "must be", TypeError), (lambda: LINEAR.compose(3), "psi must be", TypeError),
)  # fmt: skip


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (0.5, 1.0), (2.0, -1.0), (1.0, 3.0)])
def test_sigmoid_is_indefinite(a, b):
    """Whatever the slope and the offset: some points on the line give a negative eigenvalue."""
    K = Sigmoid(a, b)(np.linspace(-2, 2, 41)[:, None])
    answer = is_positive_definite(K)
    assert answer.witness @ K @ answer.witness == pytest.approx(answer.smallest_eigenvalue)
    assert answer.smallest_eigenvalue < -1e-3


def test_definiteness_propagates():
    indefinite, unknown = Sigmoid(), as_kernel(lambda X, Y: X @ Y.T)
    assert indefinite.positive_definite is False
    for k in (indefinite + Linear(), indefinite * Linear(), indefinite.exp(), unknown + Linear()):
        assert k.positive_definite is None, k


def test_values_agree_with_scikit_learn():
    X, Y = points(0), points(1)
    for k, expected in (
        (Linear(), pairwise.linear_kernel(X, Y)),
        (Polynomial(3, R=0.5, gamma=2.0), pairwise.polynomial_kernel(X, Y, 3, 2.0, 0.5)),
        (Gaussian(1.5), pairwise.rbf_kernel(X, Y, gamma=1 / (2 * 1.5**2))),
        (Sigmoid(0.3, -0.2), pairwise.sigmoid_kernel(X, Y, 0.3, -0.2)),
        (Linear().normalized(), pairwise.cosine_similarity(X, Y)),
    ):
        assert_allclose(k(X, Y), expected, atol=1e-12, err_msg=repr(k))


def test_gaussian_is_exact_also_far_from_the_origin_and_between_near_points():
    X = 1e6 + points(0)
    X[1] = X[2] + 1e-3
    R = [[Fraction(t) for t in x] for x in X]
    squares = [[float(sum((s - t) ** 2 for s, t in zip(x, y))) for y in R] for x in R]
    for sigma in (0.5, 40.0):
        exact = np.exp(-np.array(squares) / (2 * sigma**2))
        assert_allclose(Gaussian(sigma)(X), exact, rtol=0, atol=64 * EPS)
        assert_array_equal(Gaussian(sigma)(X).diagonal(), 1.0)


def test_points_that_are_numbers_series_sparse_or_small_integers():
    assert Linear()(2, 3) == 6.0
    assert Linear()(sparse.csr_array([[1.0, 2.0]]), [3, 4]) == [11.0]
    assert Linear()(pd.Series([1.0, 2.0]), (3, 4)) == 11.0
    product = FromFunction(lambda x, y: (x * y).sum())
    assert product(np.full((1, 1), 200, dtype=np.uint8)) == 40_000  # no wrapping around
    assert product(np.full((1, 2, 2), 200, dtype=np.uint8)) == 160_000  # one image
    assert Linear()(np.array([[2**64 - 1]], dtype=np.uint64)) == 2.0**128
    third = np.float32(1 / 3)
    assert product(np.array([[third]])) == float(third) ** 2
    words = pd.DataFrame({"word": ["a", "b"]})  # a list of rows, not of columns
    assert_array_equal(FromFunction(lambda x, y: float(x[0] == y[0]))(words), np.eye(2))


PRECOMPUTED = as_kernel("precomputed")
test_kernels_that_break_their_promise = refusals(
    (lambda: Linear().exp()([[100.0]]), r"exp\(<x, y>\) overflow"),
    (lambda: Polynomial(6).features([[1e60]]), "overflow"),
    (lambda: (Linear() ** 4).normalized()([[1e-100], [1.0]]), "X has numbers of the size 1e-100"),
    (lambda: Linear()(np.ma.masked_array([[1.0, 2.0]], [[False, True]])), "masked"),
    (lambda: Bilinear(np.eye(2))(np.eye(3)), "2 coordinates"),
    (lambda: Linear()([[1.0, 2.0]], [[1.0]]), "2 coordinates and those of Y have 1"),
    (lambda: Linear().gaussian(1e-3)(points(0) + 1e6), "lost in rounding"),
    (lambda: Sigmoid(1.0, -5.0).normalized()([[1.0]]), r"Proposition 17\.2"),
    (lambda: FromFunction(lambda x, y: x)([[1.0, 2.0]]), "one number per pair"),
    (lambda: as_kernel(lambda X, Y: X @ Y[0])([[1.0], [2.0]]), "FromFunction"),
    (lambda: PRECOMPUTED([[1.0, 2.0]]), "1 columns"),
    (lambda: PRECOMPUTED([[1, 2], [0, 1]]), "symm"),
    (lambda: (PRECOMPUTED + 1)(np.eye(2)), "cannot be combined", TypeError),
)


def kinds():
    product, features = (Linear() + 1) ** 2 * Gaussian(0.5), FeatureMap(phase).normalized()
    bilinear = Bilinear(np.eye(2)), Bilinear(2 * np.eye(2))
    others = FromFunction(max, positive_definite=False), as_kernel("precomputed")
    return [product, 2 * Linear(), features, *bilinear, *others]


def test_kernels_are_immutable_values():
    """They are equal by structure, and hash, pickle and copy."""
    for twins in (kinds(), copy.deepcopy(kinds()), pickle.loads(pickle.dumps(kinds()))):
        for i, (k, twin) in enumerate(zip(kinds(), twins)):
            assert [other == twin for other in kinds()] == [j == i for j in range(len(twins))]
            assert hash(twin) == hash(k), k
    assert Linear() != "linear"
    assert np.float64(3.0) + Linear() * 3 == Constant(3) + 3 * Linear()
    with pytest.raises(AttributeError):
        Gaussian(1.0).sigma = 2.0
    with pytest.raises(ValueError, match="read-only"):
        Bilinear(np.eye(2)).B[0, 0] = 5.0


def test_parameters_make_the_kernel_again():
    """Of every kind; and another value is another kernel, the old one stays as it is."""
    for k in kinds():
        assert k.with_params(**k.get_params(deep=False)) == k, k
        assert all(k.with_params(**{path: value}) == k for path, value in k.get_params().items())
    k = 3 * (Linear() + Gaussian(2.0)) ** 2
    assert k.with_params(kernel__kernel__k2__sigma=5.0) == 3 * (Linear() + Gaussian(5.0)) ** 2
    assert k == 3 * (Linear() + Gaussian(2.0)) ** 2


@pytest.mark.parametrize("kernel", [Gaussian(9.0), "rbf"])
def test_a_grid_search_over_a_parameter_of_the_kernel(kernel):
    X, model = points(3, n=60), make_pipeline(KernelRidge(0.1, kernel=kernel))
    search = GridSearchCV(model, {"kernelridge__kernel__sigma": [0.01, 1.0, 100.0]})
    assert search.fit(X, np.sin(3 * X[:, 0])).best_estimator_[0].kernel_ == Gaussian(1.0)
    assert (model[0].kernel, model[0].kernel_params) == (kernel, None)


test_with_params_refuses = refusals(
    (lambda: Gaussian(1.0).with_params(gamma=1.0), "has sigma, got gamma"),
    (lambda: Gaussian(1.0).with_params(sigma=-1.0), "sigma must be a finite number > 0"),
    (lambda: Gaussian(1.0).with_params(sigma__x=1.0), "got sigma__x"),
    (lambda: (2 * Linear()).with_params(coefficients=(0.0, -1.0)), "c_1 of Proposition 17.7"),
    (
        lambda: KernelRidge(kernel="rbf").set_params(kernel__depth=1).fit([[1.0]], [1.0]),
        "accepts sigma",
        TypeError,
    ),
)


def test_as_kernel_accepts_every_kind():
    assert as_kernel("linear") == as_kernel() == Linear()
    assert as_kernel("rbf", sigma=2.0, gamma=None) == Gaussian(2.0)
    assert as_kernel("gaussian", gamma=1 / 8) == Gaussian(2.0)
    assert as_kernel("poly") == as_kernel("polynomial", coef0=1.0) == Polynomial(3, R=1.0)
    assert as_kernel("sigmoid", gamma=2.0, coef0=1.0) == Sigmoid(2.0, 1.0)
    k, f = Gaussian(1.0) + 1, pairwise.linear_kernel
    assert as_kernel(k) is k
    assert_allclose(as_kernel(f)(points(0)), Linear()(points(0)))


test_as_kernel_refuses = refusals(
    (lambda: as_kernel("rbff"), "got 'rbff'"),
    (lambda: as_kernel("linear", sigma=1.0), "accepts no parameter, got sigma", TypeError),
    (lambda: as_kernel("rbf", degree=2), "accepts sigma, gamma, got degree", TypeError),
    (lambda: as_kernel("rbf", sigma=1.0, gamma=1.0), "not both", TypeError),
    (lambda: as_kernel("rbf", gamma=0.0), "gamma"),
    (lambda: as_kernel(Linear(), sigma=1.0), "given by its name", TypeError),
    (lambda: as_kernel(Linear), "Kernel object", TypeError),
)
