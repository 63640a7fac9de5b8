"""The kernel algebra: values, closure rules on random data, failure modes, and kernels as values."""

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise

from companion.kernels import (
    Bilinear,
    Constant,
    FeatureMap,
    FromFunction,
    Gaussian,
    Linear,
    Polynomial,
    Sigmoid,
    as_kernel,
    gram,
    is_positive_definite,
)

quick = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def points(seed, complex_points=False, n=7, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[-1] = X[0]  # a repeated point: Gram matrices of distinct points only would be too easy
    return X + 1j * rng.standard_normal((n, d)) if complex_points else X


def double_loop(k, X, Y):
    return np.array([[k(x, y) for y in Y] for x in X])


def phase(x):
    return np.array([np.exp(1j * x[0].real), x[1] ** 2, 1.0])


def halves(x):
    return x[:2] / 2


VECTOR_KERNELS = {
    "linear": Linear(),
    "polynomial": Polynomial(3, R=0.5, gamma=0.7),
    "homogeneous": Polynomial(2, R=0.0),
    "gaussian": Gaussian(1.3),
    "bilinear": Bilinear([[2, 1, 0], [1, 2, 0], [0, 0, 0]]),
    "constant": Constant(2.5),
    "feature map": FeatureMap(phase),
    "sum": Linear() + Gaussian(0.8) + 1,
    "multiple": 3 * Gaussian(2.0),
    "product": Linear() * Gaussian(2.0) * FeatureMap(phase),
    "power": (Linear() + 2) ** 3,
    "polynomial of": Gaussian(1.0).polynomial([1, 0, 2, 0.5]),
    "exp": (0.1 * Linear()).exp(),
    "gaussian of": Polynomial(2, R=1.0).gaussian(3.0),
    "composed": Gaussian(1.0).compose(halves),
    "normalized": (Linear() + 1).normalized(),
    "function": FromFunction(lambda x, y: np.vdot(y, x) ** 2, positive_definite=True),
}
named = pytest.mark.parametrize("k", VECTOR_KERNELS.values(), ids=VECTOR_KERNELS.keys())


# --- every kernel: all ways to evaluate agree -----------------------------------------------------


@named
@pytest.mark.parametrize("complex_points", [False, True], ids=["real", "complex"])
def test_matrix_rows_and_pairs_agree(k, complex_points):
    X, Y = points(0, complex_points), points(1, complex_points, n=4)
    K = k(X, Y)
    assert K.shape == (7, 4)
    np.testing.assert_allclose(K, double_loop(k, X, Y), atol=1e-12)
    np.testing.assert_allclose(k(X), k(X, X), atol=1e-12)
    np.testing.assert_allclose(k(X[0], Y), K[0], atol=1e-12)
    np.testing.assert_allclose(k(X, Y[1]), K[:, 1], atol=1e-12)
    np.testing.assert_allclose(k.diagonal(X), np.diag(k(X)), atol=1e-12)
    assert k(X[2]) == pytest.approx(k(X[2], X[2]))
    assert isinstance(k(X[0], X[0]), (float, complex))


@named
@pytest.mark.parametrize("complex_points", [False, True], ids=["real", "complex"])
def test_every_matrix_is_hermitian_and_positive_definite(k, complex_points):
    K = k(points(2, complex_points, n=9))
    assert is_positive_definite(K), is_positive_definite(K)
    assert k.positive_definite is True


@named
def test_large_matrices_which_are_made_of_blocks_agree_with_their_parts(k):
    X, Y = points(3, n=130), points(4, n=1090)
    whole, cross = k(X), k(X[:3], Y)
    np.testing.assert_allclose(k(X[:7], X[120:]), whole[:7, 120:], atol=1e-12)
    np.testing.assert_allclose(k(X[120:], X[:7]), whole[120:, :7], atol=1e-12)
    np.testing.assert_allclose(k(X[:3], Y[1075:]), cross[:, 1075:], atol=1e-12)
    rounding = 16 * np.finfo(float).eps * np.abs(whole).max()
    np.testing.assert_allclose(whole, whole.conj().T, rtol=0.0, atol=rounding)


@named
@pytest.mark.parametrize("complex_points", [False, True], ids=["real", "complex"])
def test_features_reproduce_the_kernel(k, complex_points):
    X, Y = points(5, complex_points), points(6, complex_points, n=4)
    Phi = k.features(X)
    if Phi is None:
        assert not isinstance(k, (Linear, Polynomial, Bilinear, FeatureMap, Constant))
        return
    np.testing.assert_allclose(Phi @ k.features(Y).conj().T, k(X, Y), atol=1e-10)
    assert k.features(X, limit=Phi.shape[1]) is not None
    assert k.features(X, limit=Phi.shape[1] - 1) is None


@pytest.mark.parametrize("name", ["gaussian", "exp", "gaussian of", "composed", "function"])
def test_no_features_where_none_are_known(name):
    assert VECTOR_KERNELS[name].features(points(0)) is None


def test_which_kernels_have_features():
    without = {name for name, k in VECTOR_KERNELS.items() if k.features(points(0)) is None}
    assert without == {
        "gaussian", "exp", "gaussian of", "composed", "function", "sum", "multiple", "product", "polynomial of",
    }  # fmt: skip


# --- the closure rules (Propositions 17.5 - 17.7) -------------------------------------------------


def random_features(seed):
    """A random complex (or real) feature map of R^3 into C^4."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)) * (seed % 2)
    return FeatureMap(lambda X: np.sin(X @ A / 5) + 0.3, batch=True)


@quick
@given(seeds, st.booleans())
def test_closure_rules(seed, complex_points):
    X = points(seed, complex_points)
    k1, k2 = random_features(seed), random_features(seed + 1)
    K1, K2 = k1(X), k2(X)
    a = float(np.random.default_rng(seed).uniform(0, 3))
    c = np.random.default_rng(seed).uniform(0, 1, 4)
    d = K1.diagonal().real
    expected = {
        k1 + k2: K1 + K2,
        a * k1: a * K1,
        k1 * k2: K1 * K2,
        k1**3: K1**3,
        k1.polynomial(c): c[0] + c[1] * K1 + c[2] * K1**2 + c[3] * K1**3,
        (k1 / 50).exp(): np.exp(K1 / 50),
        k1.gaussian(2.0): np.exp(-(d[:, None] + d - 2 * K1) / 8),
        k1.normalized(): K1 / np.sqrt(d[:, None] * d),
    }
    for kernel, K in expected.items():
        np.testing.assert_allclose(kernel(X), K, rtol=1e-9, atol=1e-9)
        assert is_positive_definite(K, tol=1e-11), (kernel, is_positive_definite(K))
        assert kernel.positive_definite is True


@quick
@given(seeds)
def test_rank_one_kernel_of_a_function(seed):
    """Proposition 17.6 (3): k(x, y) = f(x) conj(f(y))."""
    X = points(seed)
    k = FeatureMap(lambda x: x[0] + 1j * np.cos(x[1]))
    f = X[:, 0] + 1j * np.cos(X[:, 1])
    np.testing.assert_allclose(k(X), np.outer(f, f.conj()), atol=1e-12)


@quick
@given(seeds)
def test_bilinear_kernel_through_a_factor(seed):
    """Proposition 17.6 (5): x'By = <R'x, R'y> for B = RR'."""
    rng = np.random.default_rng(seed)
    R, X = rng.standard_normal((3, 2)), rng.standard_normal((6, 3))
    np.testing.assert_allclose(Bilinear(R @ R.T)(X), Linear()(X @ R), atol=1e-12)


def test_bilinear_kernel_of_a_hermitian_matrix():
    B = np.array([[2, 1j], [-1j, 2]])
    x, y = np.array([1, 2j]), np.array([3, 1 - 1j])
    assert Bilinear(B)(x, y) == pytest.approx(y.conj() @ B @ x)
    X = np.array([x, y])
    Phi = Bilinear(B).features(X)
    np.testing.assert_allclose(Phi @ Phi.conj().T, Bilinear(B)(X), atol=1e-12)


def test_concatenated_features_give_the_sum_and_pairs_give_the_product():
    """Examples 17.1 and 17.3, Problem 17.1."""
    X = points(0)
    k1, k2 = Linear(), FeatureMap(phase)
    Phi1, Phi2 = k1.features(X), k2.features(X)
    np.testing.assert_array_equal((k1 + k2).features(X), np.hstack([Phi1, Phi2]))
    pairs = (k1 * k2).features(X)
    assert pairs.shape == (7, 3 * 3)  # R^{n1 n2}, not R^{n1} x R^{n2}
    np.testing.assert_allclose(pairs[2], np.kron(Phi1[2], Phi2[2]))


def test_the_quadratic_kernel_comes_from_two_feature_maps():
    """Example 17.2; the first map is not injective."""
    X = points(0, d=2)
    r = np.sqrt(2)
    three = FeatureMap(lambda x: (x[0] ** 2, x[1] ** 2, r * x[0] * x[1]))
    four = FeatureMap(lambda x: (x[0] ** 2, x[1] ** 2, x[0] * x[1], x[0] * x[1]))
    for k in (three, four):
        np.testing.assert_allclose(k(X), (X @ X.T) ** 2, atol=1e-12)
        np.testing.assert_allclose(k.features(-X), k.features(X))


def test_gaussian_factorisation():
    """Proposition 17.7 (3): exp(<x, y>/s^2) f(x) f(y) with f(x) = exp(-|x|^2 / 2 s^2)."""
    X, sigma = points(1), 1.7

    def f(x):
        return np.exp(-(x @ x) / (2 * sigma**2))

    product = (Linear() / sigma**2).exp() * FeatureMap(f)
    np.testing.assert_allclose(product(X), Gaussian(sigma)(X), rtol=1e-12)


def test_gaussian_of_the_linear_kernel_is_the_gaussian_kernel():
    X = points(1)
    np.testing.assert_allclose(Linear().gaussian(1.7)(X), Gaussian(1.7)(X), atol=1e-14)


def test_gaussian_of_a_kernel_is_the_gaussian_of_its_features():
    """The remark after Definition 17.4."""
    X, k = points(1), Polynomial(2, R=1.0)
    np.testing.assert_allclose(k.gaussian(3.0)(X), Gaussian(3.0)(k.features(X)), atol=1e-13)


def test_gaussian_of_a_complex_kernel_takes_the_kernel_itself():
    X = points(1, complex_points=True)
    K = Linear().gaussian(2.0)(X)
    n = (np.abs(X) ** 2).sum(axis=1)
    np.testing.assert_allclose(K, np.exp(-(n[:, None] + n - 2 * X @ X.conj().T) / 8), atol=1e-12)
    assert np.abs(K.imag).max() > 1e-3
    assert is_positive_definite(K)


def test_gaussian_of_complex_points_uses_the_complex_distance():
    X = points(1, complex_points=True)
    K = Gaussian(2.0)(X)
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.testing.assert_allclose(K, np.exp(-(distance**2) / 8), atol=1e-13)
    assert K.dtype == np.float64


def test_partial_sums_of_exp_are_kernels_and_converge_pointwise_not_uniformly():
    """Problem 17.4: 21 terms are off by 35 at 10 and by 1e13 at 30."""
    X = np.array([[np.sqrt(10.0)], [np.sqrt(30.0)], [1.0]])
    coefficients = 1.0 / np.cumprod([1.0, *range(1, 60)])
    errors = []
    for m in (21, 60):
        partial = Linear().polynomial(coefficients[:m])
        assert is_positive_definite(partial(X))
        errors.append(np.abs(Linear().exp()(X) - partial(X)).diagonal())
    assert errors[0][0] == pytest.approx(34.97, rel=0.01)
    assert errors[0][1] == pytest.approx(1.0e13, rel=0.05)
    assert errors[1][0] < 1e-8


@quick
@given(seeds, st.booleans())
def test_cauchy_schwarz(seed, complex_points):
    """Proposition 17.4."""
    X = points(seed, complex_points)
    for k in (Linear(), Gaussian(1.0), FeatureMap(phase), Polynomial(2)):
        d = k.diagonal(X)
        assert (np.abs(k(X)) ** 2 <= d[:, None] * d * (1 + 1e-12) + 1e-12).all()
    assert np.abs((Linear() + 1).normalized()(X)).max() <= 1 + 1e-12


def test_hermitian_values_and_index_order():
    """k(X, Y)[i, j] = k(x_i, y_j); the text's Gram matrix is K_S = (k(x_j, x_i))."""
    X = points(0, complex_points=True)
    k = Linear()
    assert k(X)[0, 1] == pytest.approx(np.sum(X[0] * X[1].conj()))
    np.testing.assert_array_equal(gram(k, X), k(X).T)
    u = np.arange(7) + 1j
    K = gram(k, X)
    assert np.vdot(u, K @ u).real == pytest.approx(
        np.linalg.norm(u @ X) ** 2
    )  # |sum u_i phi(x_i)|^2
    assert (
        abs(np.vdot(u, k(X) @ u).real - np.linalg.norm(u @ X) ** 2) > 1.0
    )  # the other order is not it


# --- where a hypothesis is dropped ----------------------------------------------------------------


def test_ordinary_product_of_matrices_is_not_positive_definite():
    """A o B is, AB = [[2, 2], [1, 1]] is not even symmetric."""
    A, B = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 1.0]])
    assert is_positive_definite(A)
    assert is_positive_definite(B)
    assert is_positive_definite(A * B)
    np.testing.assert_array_equal(A @ B, [[2, 2], [1, 1]])
    assert not is_positive_definite(A @ B)


def test_negative_coefficient_is_refused_and_would_fail():
    with pytest.raises(ValueError, match=r"Proposition 17\.7 \(1\) needs nonnegative .* c_1 = -1"):
        Linear().polynomial([3, -1])
    X = np.array([[1.0], [2.0]])
    assert not is_positive_definite(1 - Linear()(X))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (lambda k: -1 * k, "17.6"),
        (lambda k: -k, "17.6"),
        (lambda k: k - k, "difference"),
        (lambda k: 1 - k, "difference"),
        (lambda k: k + (-1), "17.5"),
        (lambda k: k**-1, "integer >= 0"),
        (lambda k: k / 0, "> 0"),
        (lambda k: k.gaussian(0.0), "sigma"),
        (lambda k: k.polynomial([]), "c_0"),
        (lambda k: k.polynomial([np.nan]), "finite"),
    ],
)
def test_expressions_that_are_no_kernels(expression, message):
    with pytest.raises(ValueError, match=message):
        expression(Linear())


def test_expressions_with_wrong_types():
    with pytest.raises(TypeError):
        Linear() + "k"
    with pytest.raises(TypeError):
        Linear() * [1, 2]
    with pytest.raises(TypeError, match="integer"):
        Linear() ** 0.5
    with pytest.raises(TypeError, match="psi must be callable"):
        Linear().compose(3)
    with pytest.raises(TypeError, match="phi must be callable"):
        FeatureMap([1, 2])


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (0.5, 1.0), (2.0, -1.0), (1.0, 3.0)])
def test_sigmoid_is_indefinite(a, b):
    """Whatever the slope and the offset: some points on the line give a negative eigenvalue."""
    X = np.linspace(-2, 2, 41)[:, None]
    answer = is_positive_definite(Sigmoid(a, b)(X))
    assert not answer
    u = answer.witness
    assert u @ Sigmoid(a, b)(X) @ u == pytest.approx(answer.smallest_eigenvalue)
    assert answer.smallest_eigenvalue < -1e-3


def test_definiteness_propagates():
    indefinite, unknown = Sigmoid(), as_kernel(lambda X, Y: X @ Y.T)
    assert indefinite.positive_definite is False
    assert unknown.positive_definite is None
    assert (2 * indefinite).positive_definite is False
    assert (0 * indefinite).positive_definite is True
    for k in (indefinite + Linear(), indefinite * Linear(), indefinite.exp(), indefinite**2):
        assert k.positive_definite is None
    assert (indefinite.compose(halves)).positive_definite is None
    assert (Linear() + unknown).positive_definite is None
    assert FromFunction(min, positive_definite=False).positive_definite is False


def test_bilinear_needs_a_positive_semidefinite_matrix():
    with pytest.raises(ValueError, match=r"17\.6 \(5\) needs a symmetric"):
        Bilinear([[1, 1], [0, 1]])
    with pytest.raises(ValueError, match="eigenvalue -1"):
        Bilinear([[1, 2], [2, 1]])
    with pytest.raises(ValueError, match="square"):
        Bilinear([[1, 2]])
    with pytest.raises(ValueError, match="2 coordinates"):
        Bilinear(np.eye(2))([[1.0, 2.0, 3.0]])


def test_asymmetric_functions_are_not_hidden_by_mirroring():
    k = FromFunction(lambda x, y: x[0] - y[0])
    np.testing.assert_array_equal(k([[1.0], [3.0]]), [[0, -2], [2, 0]])
    np.testing.assert_array_equal((k + Linear())([[1.0], [3.0]]), [[1, 1], [5, 9]])


# --- scikit-learn's kernels -----------------------------------------------------------------------


def test_values_agree_with_scikit_learn():
    X, Y = points(0), points(1)
    pairs = [
        (Linear(), pairwise.linear_kernel(X, Y)),
        (Polynomial(3, R=0.5, gamma=2.0), pairwise.polynomial_kernel(X, Y, 3, 2.0, 0.5)),
        (Gaussian(1.5), pairwise.rbf_kernel(X, Y, gamma=1 / (2 * 1.5**2))),
        (Sigmoid(0.3, -0.2), pairwise.sigmoid_kernel(X, Y, 0.3, -0.2)),
        (Linear().normalized(), pairwise.cosine_similarity(X, Y)),
        (as_kernel("rbf", gamma=0.7), pairwise.rbf_kernel(X, Y, gamma=0.7)),
        (
            as_kernel("poly", degree=2, gamma=3.0, coef0=1.0),
            pairwise.polynomial_kernel(X, Y, 2, 3.0, 1.0),
        ),
        (as_kernel("sigmoid", gamma=0.1, coef0=1.0), pairwise.sigmoid_kernel(X, Y, 0.1, 1.0)),
    ]
    for k, expected in pairs:
        np.testing.assert_allclose(k(X, Y), expected, atol=1e-12)


def test_gaussian_keeps_its_accuracy_far_from_the_origin():
    X = points(0)
    np.testing.assert_allclose(Gaussian(1.0)(X + 1e6), Gaussian(1.0)(X), atol=1e-8)
    K = Gaussian(1e-3)(X)
    assert (K.diagonal() == 1.0).all()
    assert K[0, -1] == pytest.approx(1.0)  # the repeated point
    assert K.max() <= 1.0


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "k",
    [Gaussian(2.0), (Gaussian(1.0) + Linear()) ** 3, Linear().normalized(), Linear().gaussian(2.0)],
    ids=repr,
)
def test_no_second_matrix_is_formed(k):
    X = np.random.default_rng(0).standard_normal((2000, 5))
    tracemalloc.start()
    K = k(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert K.nbytes <= peak <= 1.25 * K.nbytes


# --- inputs ---------------------------------------------------------------------------------------


def test_all_kinds_of_numeric_input():
    X = np.round(points(0), 2)
    k = Gaussian(1.0) + Polynomial(2)
    expected = k(X)
    kinds = [
        X.tolist(),
        pd.DataFrame(X),
        sparse.csr_array(X),
        sparse.csr_matrix(X),
        X.astype(object),
        X[:, ::-1][:, ::-1],
    ]
    for kind in kinds:
        np.testing.assert_allclose(k(kind), expected, rtol=1e-12)
    single = k(X.astype(np.float32))
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, expected, rtol=1e-6)
    np.testing.assert_array_equal(Linear()([[1, 2], [3, 4]]), [[5, 11], [11, 25]])
    np.testing.assert_array_equal(Linear()([[True, False]]), [[1]])
    assert Linear()(2, 3) == 6.0
    assert Linear()((1, 2), [3, 4]) == 11.0
    assert Linear()(pd.Series([1.0, 2.0]), [3, 4]) == 11.0


def test_inputs_are_not_modified_and_results_are_fresh():
    X = points(0)
    before = X.copy()
    for k in VECTOR_KERNELS.values():
        K = k(X)
        K[:] = -1.0
        k.diagonal(X)[:] = -1.0
        np.testing.assert_array_equal(X, before)
        assert (k(X) != -1.0).any()


@pytest.mark.parametrize(
    ("X", "Y", "error", "message"),
    [
        ([[np.nan, 1.0]], None, ValueError, "finite"),
        ([[np.inf, 1.0]], None, ValueError, "finite"),
        (np.array([[np.nan + 1j, 1.0]]), None, ValueError, "finite"),
        ([[1.0, 2.0]], [[1.0]], ValueError, "2 coordinates and those of Y have 1"),
        ([1.0, 2.0], [1.0], ValueError, "coordinates"),
        (np.zeros((0, 2)), None, ValueError, "at least one point"),
        ([], None, ValueError, "at least one point"),
        (np.zeros((2, 2, 2)), None, ValueError, "rows of a matrix"),
        (["a", "b"], None, TypeError, "numbers"),
        ([[1.0, 2.0], [3.0]], None, TypeError, "numbers"),
        ({1, 2}, None, TypeError, "numbers"),
    ],
)
def test_bad_points(X, Y, error, message):
    for k in (Linear(), Gaussian(1.0) + Linear(), Polynomial(2).normalized()):
        with pytest.raises(error, match=message):
            k(X, Y)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(0.0),
        lambda: Gaussian(-1.0),
        lambda: Gaussian(np.nan),
        lambda: Polynomial(0),
        lambda: Polynomial(2, R=-1.0),
        lambda: Polynomial(2, gamma=0.0),
        lambda: Sigmoid(-1.0),
        lambda: Constant(-1.0),
    ],
)
def test_bad_parameters(make):
    with pytest.raises(ValueError, match="must be"):
        make()


def test_overflow_is_an_error_not_an_infinity():
    with pytest.raises(ValueError, match=r"exp\(<x, y>\) overflow"):
        Linear().exp()([[100.0]])
    with pytest.raises(ValueError, match="overflow"):
        Polynomial(9).diagonal([[1e30]])


def test_functions_must_return_what_they_promise():
    with pytest.raises(TypeError, match="one number per pair"):
        FromFunction(lambda x, y: x)([[1.0, 2.0]])
    with pytest.raises(ValueError, match="FromFunction"):
        as_kernel(lambda X, Y: X @ Y[0])([[1.0], [2.0]])
    with pytest.raises(ValueError, match="1 rows for 3 points"):
        FeatureMap(lambda X: X[:1], batch=True)(np.eye(3))
    with pytest.raises(ValueError, match="1 points for 3"):
        Linear().compose(lambda X: X[:1], batch=True)(np.eye(3))
    with pytest.raises(ValueError, match="matmul") as failed:
        as_kernel(lambda x, y: x @ y)([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert "two matrices" in failed.value.__notes__[0]


def test_normalizing_needs_nonnegative_squares():
    with pytest.raises(ValueError, match=r"Proposition 17\.2"):
        Sigmoid(1.0, -5.0).normalized()([[1.0], [0.5]])


# --- values among values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (Linear() + 1, "<x, y> + 1"),
        (3 * Linear(), "3 <x, y>"),
        (2 * (3 * Linear()), "6 <x, y>"),
        (3 * (Linear() + 1), "3 (<x, y> + 1)"),
        (Linear() * Gaussian(0.5), "<x, y> * exp(-|x - y|^2/(2*0.5^2))"),
        ((Linear() + 1) * Linear(), "(<x, y> + 1) * <x, y>"),
        ((Linear() + 1) ** 3, "(<x, y> + 1)^3"),
        (((Linear() + 1) ** 3) ** 2, "((<x, y> + 1)^3)^2"),
        ((2 * Linear()) ** 2, "(2 <x, y>)^2"),
        (Linear() ** 0, "1"),
        (0 * Linear(), "0 <x, y>"),
        (Linear().polynomial([0, 0]), "0"),
        (Linear().polynomial([1, 1, 0.5]), "1 + <x, y> + 0.5 <x, y>^2"),
        ((Linear() + Linear()).exp(), "exp(<x, y> + <x, y>)"),
        (Polynomial(3, R=2.0, gamma=0.5), "(0.5 <x, y> + 2)^3"),
        (Polynomial(3, R=0.0, gamma=0.5), "(0.5 <x, y>)^3"),
        (Sigmoid(2.0, -1.0), "tanh(2 <x, y> - 1)"),
        (Linear().compose(halves), "<halves(x), halves(y)>"),
        (Linear().normalized(), "<x, y>/sqrt(<x, x> <y, y>)"),
        (Bilinear(np.eye(2)), "x' B y"),
        (FeatureMap(phase) + FromFunction(max), "<phase(x), phase(y)> + max(x, y)"),
    ],
)
def test_repr_reads_as_the_formula(k, text):
    assert repr(k) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(2.0),
        lambda: (Linear() + 1) ** 2 * Gaussian(0.5),
        lambda: Bilinear([[2, 1], [1, 2]]),
        lambda: FeatureMap(phase).normalized(),
        lambda: Linear().compose(halves).exp(),
        lambda: FromFunction(max, positive_definite=False),
        lambda: as_kernel("precomputed"),
    ],
)
def test_kernels_are_equal_by_structure_hash_pickle_and_copy(make):
    k, same = make(), make()
    assert k == same
    assert hash(k) == hash(same)
    assert k is not same
    assert {k: "value"}[same] == "value"
    for twin in (copy.copy(k), copy.deepcopy(k), pickle.loads(pickle.dumps(k))):
        assert twin == k
        assert hash(twin) == hash(k)
        assert repr(twin) == repr(k)


def test_different_kernels_differ():
    kernels = [
        Linear(),
        Gaussian(1.0),
        Gaussian(2.0),
        2 * Linear(),
        Linear() + 2,
        Linear() ** 2,
        Linear().exp(),
    ]
    kernels += [
        Linear() * Linear(),
        Bilinear(np.eye(2)),
        Bilinear(2 * np.eye(2)),
        Polynomial(2, R=0.0),
    ]
    for i, k in enumerate(kernels):
        assert [other == k for other in kernels] == [j == i for j in range(len(kernels))]
    assert Linear() != "linear"


def test_kernels_are_immutable():
    with pytest.raises(AttributeError):
        Gaussian(1.0).sigma = 2.0
    with pytest.raises(ValueError, match="read-only"):
        Bilinear(np.eye(2)).B[0, 0] = 5.0


def test_numpy_scalars_multiply_from_the_left():
    assert np.float64(3.0) * Linear() == 3 * Linear()
    assert np.float64(3.0) + Linear() == 3 + Linear()
    assert Linear() * 3 == 3 * Linear()
    assert Linear() + 3 == Linear() + Constant(3)


# --- as_kernel ------------------------------------------------------------------------------------


def test_as_kernel_accepts_every_kind():
    assert as_kernel("linear") == as_kernel() == Linear()
    assert as_kernel("rbf", sigma=2.0) == as_kernel("gaussian", gamma=1 / 8) == Gaussian(2.0)
    assert as_kernel("rbf", sigma=2.0, gamma=None) == Gaussian(2.0)
    assert (
        as_kernel("poly")
        == as_kernel("polynomial", degree=3, coef0=1.0, gamma=1.0)
        == Polynomial(3, R=1.0)
    )
    assert as_kernel("sigmoid", gamma=2.0, coef0=1.0) == Sigmoid(2.0, 1.0)
    k = Gaussian(1.0) + 1
    assert as_kernel(k) is k
    f = pairwise.linear_kernel
    assert as_kernel(f) == as_kernel(f)
    np.testing.assert_allclose(as_kernel(f)(points(0)), Linear()(points(0)))


@pytest.mark.parametrize(
    ("kernel", "params", "error", "message"),
    [
        (
            "rbff",
            {},
            ValueError,
            "linear, polynomial, gaussian, sigmoid, precomputed, poly, rbf, got 'rbff'",
        ),
        ("linear", {"sigma": 1.0}, TypeError, "accepts no parameter, got sigma"),
        ("rbf", {"degree": 2}, TypeError, "accepts sigma, gamma, got degree"),
        ("rbf", {"sigma": 1.0, "gamma": 1.0}, TypeError, "not both"),
        ("rbf", {"gamma": 0.0}, ValueError, "gamma"),
        ("poly", {"degree": 1.5}, TypeError, "integer"),
        (Linear(), {"sigma": 1.0}, TypeError, "given by its name"),
        (Linear, {}, TypeError, "Kernel object"),
        (3, {}, TypeError, "got 3"),
        (None, {}, TypeError, "got None"),
    ],
)
def test_as_kernel_refuses(kernel, params, error, message):
    with pytest.raises(error, match=message):
        as_kernel(kernel, **params)


def test_precomputed_matrices_are_checked():
    k, K = as_kernel("precomputed"), np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(k(K), K)
    np.testing.assert_array_equal(k([[1.0, 0.5]], K), [[1.0, 0.5]])
    np.testing.assert_array_equal(k.diagonal(K), [2.0, 2.0])
    assert k.features(K) is None
    for bad, fitted, message in [
        ([[1.0, 2.0]], None, "1 columns"),
        ([[1.0]], K, "2 columns"),
        ([[1, 2], [0, 1]], None, "symm"),
    ]:
        with pytest.raises(ValueError, match=message):
            k(bad, fitted)
    with pytest.raises(TypeError, match="cannot be combined"):
        (k + Linear())(K)


def test_a_matrix_function_is_called_once_with_everything():
    calls = []

    def f(X, Y):
        calls.append((len(X), len(Y)))
        return X @ Y.T

    X = np.random.default_rng(0).standard_normal((600, 2))
    as_kernel(f)(X)
    as_kernel(f)(X[:3], X)
    assert calls == [(600, 600), (3, 600)]
