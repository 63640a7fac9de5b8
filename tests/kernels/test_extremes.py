"""Points far from the origin, outliers, huge and tiny numbers: a kernel has its digits, or says that they are lost."""

import warnings
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from companion.exceptions import ConvergenceWarning
from companion.kernels import (
    Bilinear,
    CyclicKernel,
    FeatureMap,
    FromFunction,
    Gaussian,
    Intersection,
    KernelPCA,
    Legendre,
    Linear,
    Polynomial,
    RKHSFunction,
    Sigmoid,
    Subset,
    VectorFamily,
    center_gram,
    expand,
    is_positive_definite,
    orthogonalize,
    polynomial_features,
)


def exact_gaussian(X: np.ndarray, sigma: float) -> np.ndarray:
    mp.mp.dps = 50
    rows = [[mp.mpf(float(t)) for t in row] for row in X]
    square = [[mp.fsum((a - b) ** 2 for a, b in zip(x, y)) for y in rows] for x in rows]
    return np.array([[float(mp.exp(-d / (2 * mp.mpf(sigma) ** 2))) for d in row] for row in square])


CLOUD = np.random.default_rng(0).standard_normal((6, 3))


@pytest.mark.parametrize("outlier", [10.0, 1e3, 1e5, 1e8, 1e12, 1e200])
@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_an_outlier_takes_no_digits_from_other_distances(outlier: float, sigma: float) -> None:
    X = np.vstack([CLOUD, CLOUD[:1] + 1e-3, [[outlier, 0.0, 0.0]]])
    K = Gaussian(sigma)(X)
    assert np.abs(K - exact_gaussian(X, sigma)).max() < 1e-11
    assert (K == K.T).all()
    assert (K <= 1.0).all()


@pytest.mark.parametrize("sigma", [1e-150, 1e-5, 1e150])
def test_any_unit_of_length_with_an_outlier(sigma: float) -> None:
    X = np.vstack([CLOUD, [[1e6, 0.0, 0.0]]])
    assert np.abs(Gaussian(sigma)(sigma * X) - Gaussian(1.0)(X)).max() < 1e-9


@pytest.mark.parametrize("away", [1e3, 1e6, 1e8, 1e12])
def test_the_gaussian_of_the_linear_kernel_is_the_gaussian(away: float) -> None:
    X = CLOUD + away
    K = Linear().gaussian(0.7)(X)
    np.testing.assert_allclose(K, exact_gaussian(X, 0.7), rtol=0.0, atol=1e-11)


def test_the_gaussian_of_a_kernel_is_at_most_1() -> None:
    X = 1e3 + CLOUD  # k(x, x) of the size 1e6: the distances have ten digits
    k = (Linear() + Gaussian(1.0)).gaussian(1.0)
    assert k(X).max() == 1.0
    np.testing.assert_allclose(k(X), k(X, X.copy()), rtol=0.0, atol=1e-8)


def test_distances_in_feature_space_that_are_lost_are_said_to_be() -> None:
    with pytest.raises(ValueError, match="lost in rounding"):
        (Linear() + Gaussian(1.0)).gaussian(1.0)(CLOUD + 1e8)


@pytest.mark.parametrize("away", [0.0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("copies", [1, 3])
def test_pca_of_few_points_far_from_the_origin(away: float, copies: int) -> None:
    Z = CLOUD[:4] * [3.0, 1.0, 0.3]
    X = np.tile(Z + away, (copies, 1))
    expected = np.linalg.svd((X - away) - (X - away).mean(axis=0), compute_uv=False)[:3] ** 2
    pca = KernelPCA().fit(X)
    np.testing.assert_allclose(pca.eigenvalues_, expected, rtol=1e-6)
    np.testing.assert_allclose(pca.transform(X), pca.fit_transform(X), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("s", [1e15 + 1, -9e18, 1e300])
def test_a_cyclic_group_takes_any_integer(s: float) -> None:
    k = CyclicKernel([2.0, 1.0, 0.0, 0.0, 1.0])
    X = [[s], [3.0], [-1.0]]
    residues = [int(x[0]) % 5 for x in X]
    expected = [[k.p[(i - j) % 5] for j in residues] for i in residues]
    np.testing.assert_array_equal(k(X), expected)
    Phi = k.features(X)
    np.testing.assert_allclose(Phi @ Phi.conj().T, expected, atol=1e-12)


@pytest.mark.parametrize(("d", "R"), [(170, 1.0), (171, 1.0), (300, 0.5), (400, 0.0)])
def test_monomials_of_a_degree_whose_factorial_overflows(d: int, R: float) -> None:
    X = np.array([[0.9, 0.4], [0.7, 0.6]])
    Phi = polynomial_features(X, d, R)
    np.testing.assert_allclose(Phi @ Phi.T, Polynomial(d, R)(X), rtol=1e-10)


def test_a_large_ground_set_has_too_many_subsets() -> None:
    assert Subset(range(1100)).features([{1}, {2}], limit=100) is None


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e300, 9e307])
def test_definiteness_does_not_depend_on_the_unit(size: float) -> None:
    assert is_positive_definite(size * np.array([[1.0, 1.0], [1.0, 1.0]]))
    no = is_positive_definite(size * np.array([[0.5, 1.0], [1.0, 0.5]]))
    assert not no
    assert no.smallest_eigenvalue == pytest.approx(-0.5 * size, rel=1e-2)


@pytest.mark.parametrize("size", [1e-300, 1e307])
def test_centring_in_any_unit(size: float) -> None:
    K = np.diag([9.0, 6.0, 3.0]) + 1.0
    np.testing.assert_allclose(center_gram(size * K) / size, center_gram(K), rtol=1e-12)
    np.testing.assert_allclose(center_gram(size * K[:1], size * K) / size, center_gram(K)[:1])


def test_a_negative_entry_of_the_diagonal_beside_a_large_one() -> None:
    with pytest.raises(ValueError, match=r"B\[1, 1\] = -1"):
        Bilinear([[1e16, 0.0], [0.0, -1.0]])


def test_angles_of_points_whose_squares_underflow() -> None:
    with pytest.raises(ValueError, match="underflow"):
        Linear().normalized()([[3e-162, 4e-162], [1e-162, 0.0]])
    for kernel, size in ((Linear(), 1e-170), (Linear(), 5e-324), (Linear() ** 3, 1e-60)):
        with pytest.raises(ValueError, match="underflow"):
            kernel.normalized()([[size], [1.0]])
        with pytest.raises(ValueError, match="underflow"):
            (kernel * Linear()).normalized()([[size * 1j], [1.0]])


def test_angles_of_points_without_length_are_zero() -> None:
    """It is no underflow where all multiples of x have k(x, x) = 0."""
    K = Linear().normalized()([[0.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(K, [[0.0, 0.0], [0.0, 1.0]])
    K = Bilinear([[1.0, -1.0], [-1.0, 1.0]]).normalized()([[1e-9, 1e-9], [0.0, 1e-9]])
    np.testing.assert_allclose(K, [[0.0, 0.0], [0.0, 1.0]])
    K = Intersection([1.0, 2.0, 3.0]).normalized()([set(), {1, 2}])
    np.testing.assert_allclose(K, [[0.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_orthogonal_vectors_in_any_unit(size: float) -> None:
    V = np.array([[3.0, 4.0, 0.0], [6.0, 8.0, 0.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(orthogonalize(size * V), orthogonalize(V), rtol=0.0, atol=1e-14)
    with pytest.raises(ValueError, match="must fit into float64"):
        VectorFamily([[size, 0.0], [size, size]])


def test_legendre_polynomials_have_integer_indices() -> None:
    with pytest.raises(ValueError, match="integers"):
        Legendre()(2.5, 0.3)
    assert Legendre()(2.0, 0.3) == Legendre()(2, 0.3)


SMALL = (np.uint8, np.int16, np.uint64, np.float16, np.float32)


@pytest.mark.parametrize(
    "form", [lambda X: X, list, lambda X: X.tolist()], ids=["array", "rows", "lists"]
)
@pytest.mark.parametrize("dtype", SMALL, ids=lambda d: d.__name__)
def test_numbers_of_few_bits_do_not_wrap_around(dtype: type, form: Callable) -> None:
    """In 8 bits 16^2 is 0 and 3 - 5 is 254: the images of a camera are such numbers."""
    X = np.array([[16, 3, 250], [1, 5, 255]])
    images = form(X.astype(dtype))
    for kernel, expected in (
        (FeatureMap(lambda x: x**2), (X**2) @ (X**2).T),
        (FeatureMap(lambda X: X**2, batch=True), (X**2) @ (X**2).T),
        (FromFunction(lambda x, y: x @ y), X @ X.T),
        (FromFunction(lambda x, y: ((x - y) ** 2).sum()), np.array([[0, 254], [254, 0]])),
        (Linear().compose(lambda x: 3 * x), 9 * (X @ X.T)),
    ):
        np.testing.assert_array_equal(kernel(images), expected)
        np.testing.assert_array_equal(kernel.diagonal(images), expected.diagonal())
        assert kernel(images[0], images[1]) == expected[0, 1]
    f = RKHSFunction(FromFunction(lambda x, y: x @ y), images, [1.0, 1.0])
    assert f(images[0]) == (X @ X.T)[0].sum()


def test_an_integer_of_64_bits_keeps_its_sign() -> None:
    huge = np.array([[2**64 - 1], [1]], dtype=np.uint64)
    k = FromFunction(lambda x, y: float(x[0]) - float(y[0]))
    assert k(huge)[1, 0] == -(2.0**64)
    assert FromFunction(lambda x, y: x[0] - y[0])(np.uint8(3), np.uint8(5)) == -2


def test_a_cyclic_group_takes_integers_that_no_float_is() -> None:
    k = CyclicKernel([2.0, 1.0, 0.0, 0.0, 1.0])
    far = np.array([[2**60 + 1], [-(2**60)], [0]])
    np.testing.assert_array_equal(k(far), k(np.array([[2], [4], [0]])))
    np.testing.assert_array_equal(k(far.tolist()), k(far))


def test_a_sigmoid_that_overflows_is_no_plateau() -> None:
    with pytest.raises(ValueError, match="overflow at these points"):
        Sigmoid(1e-310)([[1e155]], [[1e155]])
    with pytest.raises(ValueError, match="overflow at these points"):
        Sigmoid(1e-310).diagonal([[1e155]])
    assert Sigmoid(2.0)([[1e155]], [[1e155]]).item() == 1.0


@pytest.mark.parametrize("far", [0.0, 1e3, 1e5, 1e8])
def test_centring_that_leaves_few_digits_is_told(far: float) -> None:
    K = np.add.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]) ** 2 + far**2  # sums are squared
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        centred = center_gram(K)
    exact = np.array([[2.0, 0.0, -2.0], [0.0, 0.0, 0.0], [-2.0, 0.0, 2.0]])
    assert np.abs(centred - exact).max() <= 1e-15 * max(far**2, 10.0)
    assert [w.category for w in heard] == [ConvergenceWarning] * (far > 1e4)


def test_a_function_whose_square_leaves_the_range_is_named() -> None:
    for size in (1e-200, 1e200):
        with pytest.raises(ValueError, match="divide the function by its size"):
            expand(lambda x, size=size: size * np.exp(x), Legendre(), 3)
        with pytest.raises(ValueError, match="the squared norm of v must fit into float64"):
            expand([size, 0.0], VectorFamily([[1.0, 0.0]]))
    assert not expand(np.zeros_like, Legendre(), 3).coefficients.any()


@pytest.mark.parametrize("far", [1.0, 1e4, 1e8])
def test_functions_that_are_vectors_keep_the_digits_of_their_distance(far: float) -> None:
    f, g = (RKHSFunction.section("linear", [x]) for x in (far, far + 0.5))
    assert f.distance(g) == 0.5
    square = Polynomial(2, R=1.0)
    f, g = (RKHSFunction.section(square, [x]) for x in (far, far + 0.5))
    expected = np.linalg.norm(square.features([[far]]) - square.features([[far + 0.5]]))
    assert f.distance(g) == pytest.approx(expected, rel=1e-7)
