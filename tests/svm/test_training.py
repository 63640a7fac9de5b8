"""Training algorithms: printed outputs, the QP engine and LIBLINEAR."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import LinearSVC

from companion import svm
from companion.admm import solve_qp
from companion.datasets import iris, iris_components
from companion.exceptions import ConvergenceWarning
from companion.kernels import FromFunction, Gaussian, Polynomial
from companion.svm import dual_coordinate_ascent, primal_kernel_newton, primal_newton
from tests.exact import verify
from tests.refusals import refusals

pytestmark = pytest.mark.filterwarnings("error")

QUADRATIC = Polynomial(2, R=0.0)  # of points with the coordinate 1: (<x, z> + 1)^2
CYCLING = np.array([[-5.0, 5], [2, 3], [-3, 2], [5, 2]]), np.array([-1.0, 1, -1, 1])


def sepals(version="uci"):
    """Example 23.7: sepal length and width in the order of the file; setosa is -1."""
    data = iris(version)
    return data.X[:, :2], np.where(data.y == 0, -1.0, 1.0)


def components():
    """Example 23.8: two principal components in the order of the file; versicolor is -1."""
    data, rows = iris_components(), np.r_[0:50, 100:150, 50:100]
    return data.X[rows], data.y[rows]


def x_form(w):
    """Coefficients of x1^2, x1 x2, x1, x2^2, x2, 1 from the weights of the features."""
    return w * np.sqrt([1, 2, 2, 1, 2, 1])


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 30)), int(rng.integers(1, 5))
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = rng.standard_normal((n, d)) + 0.7 * y[:, None] * rng.random(d)
    return X, y, float(10 ** rng.uniform(-1, 1))


def test_example_23_7_the_printed_rule_in_file_order():
    X, y = sepals()
    result = dual_coordinate_ascent(X, y, 10.0, eps=1e-4)
    assert result.n_iter == 5568
    assert_allclose(result.w, [2.74807, -3.75194, -3.08569], atol=1e-5)
    assert not result.certificate.ok


def test_example_23_9_newton():
    X, y = sepals("sklearn")
    result = primal_newton(X, y, 1000.0)
    assert result.n_iter == 9  # ZM's tenth step changes nothing
    assert_allclose(result.w, (7.4737149804, -6.3401988309, -19.9082495954), atol=1e-9)
    values = [21150.6, 11531.0, 6547.2, 3759.1, 2243.5, 1235.9, 463.67, 331.06, 285.04066]  # fmt: skip
    assert_allclose(result.history["objective"], values, rtol=2e-5)
    assert_array_equal(np.flatnonzero(result.alpha), [36, 41, 106])
    assert result.certificate.ok
    assert_allclose(result.alpha.max(), 282.0210, atol=1e-4)


def test_example_23_10_two_ways_to_the_optimum():
    Z, y = components()
    optimum = 0.8692265848, 0.6435514869, -0.5002352792, 0.4283439988, -1.0412913541, -2.3981055692
    for train in (primal_newton, primal_kernel_newton):
        result = train(Z, y, 10.0, kernel=QUADRATIC)
        assert_allclose([*x_form(result.w), result.objective], [*optimum, 136.85431697], atol=1e-8)
        assert result.n_iter in (8, 9)
        assert result.certificate.ok
        assert int((y * (QUADRATIC(svm.augment(Z)) @ result.beta) < 0).sum()) == 5
        assert np.count_nonzero(result.alpha) == 24


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ["hinge", "quadratic"])
@pytest.mark.parametrize("kernel", ["linear", Gaussian(1.5), Polynomial(2, R=1.0)])
def test_every_method_equals_the_qp_engine(seed, loss, kernel):
    X, y, C = random_problem(seed)
    program = svm.augmented_dual(X, y, C, loss=loss, kernel=kernel)
    expected = solve_qp(program.P, program.q, upper=program.upper, tol=1e-11)
    for order in ("cyclic", "shuffled"):
        result = dual_coordinate_ascent(X, y, C, loss=loss, kernel=kernel, order=order, tol=1e-9)
        assert result.certificate.ok
        assert verify(result).ok
        assert_allclose(result.dual_objective, -expected.objective, rtol=1e-9, atol=1e-9)
        assert_allclose(result.objective, -expected.objective, rtol=1e-6, atol=1e-7)
        dual, noise = result.history["objective"], 1e-12 * result.dual_objective
        assert (np.diff(dual) >= -noise).all()  # it never falls, and stays below the primal one
        assert (result.history["primal_objective"] >= dual.max() - 1e-9 - 1000 * noise).all()
    if loss == "quadratic":
        newton = primal_kernel_newton(X, y, C, kernel=kernel)
        assert newton.certificate.ok
        assert verify(newton).ok
        assert_allclose(newton.objective, -expected.objective, rtol=1e-9)
        assert_allclose(newton.alpha, expected.x, atol=1e-7 * max(1.0, expected.x.max()))
        assert_allclose(newton.alpha, y * newton.beta, atol=1e-12)  # 2 C xi, also where it cancels


@pytest.mark.parametrize("seed", range(4))
def test_equals_scikit_learn(seed):
    X, y, C = random_problem(seed)
    options = {"C": C, "intercept_scaling": 1.0, "max_iter": 1_000_000, "tol": 1e-11}
    hinge = LinearSVC(loss="hinge", dual=True, **options).fit(X, y)
    ours = dual_coordinate_ascent(X, y, C, tol=1e-10)
    assert_allclose(ours.w, [*hinge.coef_[0], hinge.intercept_[0]], atol=1e-6)
    squared = LinearSVC(loss="squared_hinge", dual=False, **options).fit(X, y)
    assert_allclose(primal_newton(X, y, C).w, [*squared.coef_[0], squared.intercept_[0]], atol=1e-5)


def test_newton_ends_where_full_steps_run_in_a_circle():
    """Erratum ZM-11."""
    for train in (primal_newton, primal_kernel_newton):
        result = train(*CYCLING, 10.0)
        assert result.history["step"].min() < 1.0
        assert_allclose(result.objective, 20 / 261, atol=1e-12)
    safe = primal_newton(*CYCLING, 10.0)
    assert safe.n_iter == 4
    assert_allclose(safe.w, [100 / 261, 20 / 261, 0], atol=1e-12)


@pytest.mark.parametrize("train", [dual_coordinate_ascent, primal_newton, primal_kernel_newton])
def test_max_iter_warns(train):
    X, y = sepals()
    with pytest.warns(ConvergenceWarning, match="2 steps"):
        result = train(X, y, 1000.0, max_iter=2)
    assert (result.status, result.n_iter, result.converged) == ("max_iter", 2, False)


def test_a_kernel_that_is_zero_leaves_every_multiplier_at_its_bound():
    zero = dual_coordinate_ascent(np.zeros((3, 3)), [1, -1, 1], 2.0, kernel="precomputed")
    assert_array_equal(zero.alpha, [2, 2, 2])


negative = FromFunction(lambda x, z: -10.0 * (x @ z))
THREE = [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]], [1, -1, 1]
test_bad_options_are_named = refusals(
    (lambda: dual_coordinate_ascent(*THREE, loss="square"), "loss"),
    (lambda: dual_coordinate_ascent(*THREE, order="random"), "order"),
    (lambda: dual_coordinate_ascent(*THREE, kernel="precomputed"), "3 columns"),
    (lambda: dual_coordinate_ascent(*THREE, kernel=negative), "positive definite"),
    (lambda: primal_newton(*THREE, kernel="rbf"), "primal_kernel_newton"),
    (lambda: primal_kernel_newton(*THREE, kernel=negative), "positive definite"),
    (
        lambda: primal_kernel_newton([[1.0, 3.0], [3.0, 1.0]], [1, -1], 9.0, kernel="precomputed"),
        "positive definite on the training points",
    ),
    (lambda: primal_kernel_newton(*THREE, 1e20), "the Newton step"),
)


@pytest.mark.parametrize("loss", ["hinge", "quadratic"])
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_coordinate_ascent_on_long_points_ends_where_the_objectives_meet(loss, size):
    """A slack of tol outweighs |w|^2 of long points: J was 200 times as large as its minimum."""
    X, y = np.array([[2.0, 1.0], [3.0, -1.0], [-1.0, 0.0], [-2.0, 1.0]]), np.array([1, 1, -1, -1])
    result = dual_coordinate_ascent(size * X, y, loss=loss)
    assert result.certificate.ok
    assert result.objective <= result.dual_objective * (1 + 1e-6)
    assert verify(result).ok
