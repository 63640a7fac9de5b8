r"""Every data set that a page uses: where it comes from, its seed, its shapes.

Four kinds:

- **printed** in a source: typed in;
- **regenerated**: the text draws them with Matlab's ``randn`` and does not print them; :func:`matlab_randn` has the
  same numbers;
- **seeded**: what the sources leave open or do not have, drawn by a numpy Generator with a fixed seed;
- **bundled** with scikit-learn: measurements.

Each function returns one of three records: :class:`Regression` (X, y), :class:`TwoClasses` (u, v; also X and
y = +1/-1) or :class:`Labelled` (X and class numbers). The points are always the rows. Each call returns new arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from companion.arguments import check_choice
from companion.results import Record

__all__ = [
    "Labelled", "Regression", "TwoClasses", "breast_cancer", "diabetes", "digits", "example_19_1", "example_19_3",
    "four_heights", "iris", "iris_components", "matlab_randn", "nile", "nine_points", "noisy_sinc",
    "outlier_line", "piecewise_constant", "sixty_points", "sparse_regression", "ten_points", "text_uv16",
    "text_x13", "text_x14", "text_x20", "two_circles", "wine", "xor", "zm_eighteen", "zm_fourteen", "zm_six",
]  # fmt: skip


class Regression(Record):
    """Points and numbers to predict.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        One point per row.
    y : ndarray of shape (m,)
        The number that belongs to each point.
    w : ndarray of shape (n,) or None
        The weights that made y, where the data are made.
    b : float or None
        The intercept that made y.
    names : tuple of str
        Names of the columns of X, empty where they have none.
    """

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None = None
    b: float | None = None
    names: tuple[str, ...] = ()


class TwoClasses(Record):
    """Blue points u (label +1) and red points v (label -1).

    Parameters
    ----------
    u : ndarray of shape (p, n)
        The blue points, one per row.
    v : ndarray of shape (q, n)
        The red points.
    """

    u: np.ndarray
    v: np.ndarray

    @property
    def X(self) -> np.ndarray:
        """All points, shape (p + q, n): the blue ones first."""
        return np.vstack([self.u, self.v])

    @property
    def y(self) -> np.ndarray:
        """The labels, shape (p + q,): p times +1, then q times -1."""
        return np.repeat([1.0, -1.0], [len(self.u), len(self.v)])


class Labelled(Record):
    """Points of several classes.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        One point per row.
    y : ndarray of shape (m,)
        Class numbers 0, 1, ...
    names : tuple of str
        Names of the columns of X.
    classes : tuple of str
        Name of class 0, of class 1, ...
    """

    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def pair(self, blue: int, red: int) -> TwoClasses:
        """Return class `blue` as the blue points and class `red` as the red ones."""
        return TwoClasses(self.X[self.y == blue], self.X[self.y == red])


# ---------------------------------------------------------------------------------------------
# Matlab's randn
# ---------------------------------------------------------------------------------------------


def matlab_randn(shape: tuple[int, ...], offset: int = 0) -> np.ndarray:
    r"""Return the normal numbers that a fresh Matlab draws with ``randn``, where the text needs them.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array. It is filled column by column, as Matlab does.
    offset : int
        How many numbers were drawn before.

    Returns
    -------
    ndarray of shape `shape`

    Raises
    ------
    ValueError
        If the numbers are not among those that are stored: 0 to 1,299, 12,030 to 12,299 and 105,070 to 106,619.

    Notes
    -----
    Matlab feeds the ziggurat of Marsaglia and Tsang (2000) with 256 layers from the 32-bit Mersenne Twister with
    seed 5489. The project's tests draw the stream from its beginning, and compare.

    Examples
    --------
    >>> matlab_randn((5,)).round(4)
    array([ 0.5377,  1.8339, -2.2588,  0.8622,  0.3188])
    >>> matlab_randn((2, 2)).round(4)
    array([[ 0.5377, -2.2588],
           [ 1.8339,  0.8622]])
    """
    size = math.prod(shape)
    with np.load(Path(__file__).with_name("matlab_randn.npz")) as runs:
        for first in runs.files:
            numbers = runs[first][max(offset - int(first), 0) :][:size]
            if int(first) <= offset and numbers.size == size:
                return numbers.reshape(shape, order="F")
    raise ValueError(f"the numbers {offset} to {offset + size - 1} are not stored")


# ---------------------------------------------------------------------------------------------
# Data of the text
# ---------------------------------------------------------------------------------------------


def example_19_1(target: str = "y1") -> Regression:
    """Return the eight points of Example 19.1: X of shape (8, 2), y of shape (8,). Printed.

    Parameters
    ----------
    target : str
        ``"y1"``, or ``"y2"``, which lies exactly on the plane w = (1, 1), b = -1.

    Notes
    -----
    Source: Example 19.1 (Figures 19.1 to 19.6), used again in Example 19.2.

    Examples
    --------
    >>> data = example_19_1()
    >>> data.X.mean(axis=0), data.y.mean().round(4).item()
    (array([0.125, 0.875]), -0.0875)
    """
    X = np.array([[-10.0, 11], [-6, 5], [-2, 4], [0, 0], [1, 2], [2, -5], [6, -4], [10, -6]])
    targets = {"y1": [0, -2.5, 0.5, -2, 2.5, -4.2, 1, 4], "y2": [0.0, -2, 1, -1, 2, -4, 1, 3]}
    y = np.array(targets[check_choice(target, "target", targets)])
    return Regression(X, y, names=("x", "y"))


def example_19_3() -> Regression:
    """Return the data of Example 19.3: X of shape (100, 5), y of shape (100,). Regenerated.

    ``y = X w + 0.1 noise`` with w = (0, 2, 0, -3, 0): numbers 89 to 588 of Matlab's stream are X,
    numbers 589 to 688 the noise.

    Notes
    -----
    Source: Example 19.3. The five rows of X and y that the text prints agree in all digits.

    Examples
    --------
    >>> data = example_19_3()
    >>> data.X[0].round(4), data.y[:2].round(4)
    (array([-1.1658, -0.0679, -1.6118,  0.3199,  0.44  ]), array([-1.0965,  1.2155]))
    """
    w = np.array([0.0, 2, 0, -3, 0])
    X = matlab_randn((100, 5), offset=89)
    return Regression(X, X @ w + 0.1 * matlab_randn((100,), offset=589), w=w, b=0.0)


def text_x20() -> Regression:
    """Return X20 and y20 of the elastic net section: shapes (50, 30) and (50,). Regenerated.

    ``y = X w + 0.1 noise + 5``, where 13 of the 30 weights are zero: numbers 105070 to 106569 of
    Matlab's stream are X, numbers 106570 to 106619 the noise.

    Notes
    -----
    Source: Section 19.6. The text says 200 x 30; its own program and its printed results say 50 x 30.

    Examples
    --------
    >>> data = text_x20()
    >>> data.X.shape, data.y.sum().round(4).item()
    ((50, 30), 565.3219)
    """
    start = [0, 2, 0, -3, 0, -4, 1, 0, 2, 0, 2, 3, 0, -5, 6, 0, 1, 2, 0, 10, 0, 0, 3, 4, 5]
    w = np.array([*start, 0, 0, -6, -8, 0], dtype=float)
    X = matlab_randn((50, 30), offset=105070)
    return Regression(X, X @ w + 0.1 * matlab_randn((50,), offset=106570) + 5, w=w, b=5.0)


def text_x13() -> Regression:
    """Return a stand-in for X13 and y13 of Section 20.3: shapes (50, 1) and (50,).

    ``X = 15 N``, ``y = X + 10 N + 20``. The text prints no entry, only counts of points for five values
    of nu, and those do not single out one place in the stream. Numbers 1121 to 1170 (X) and 1171 to
    1220 (noise) of Matlab's stream reproduce all printed counts, so they can stand in; whether they are
    the text's own data cannot be known.

    Notes
    -----
    Source: Section 20.3.

    Examples
    --------
    >>> data = text_x13()
    >>> data.X.shape, data.y.shape
    ((50, 1), (50,))
    """
    X, noise = 15 * matlab_randn((50, 1), offset=1121), 10 * matlab_randn((50,), offset=1171)
    return Regression(X, X[:, 0] + noise + 20, w=np.ones(1), b=20.0)


def text_x14() -> Regression:
    """Return a stand-in for X14 and y14 of Section 19.5: shapes (200, 1) and (200,). Seeded.

    ``X = 15 N``, ``y = X + 10 N + 20`` by ``default_rng(14)``: X first, then the noise. The text prints
    nothing that would identify its own numbers.

    Notes
    -----
    Source: Section 19.5 (Figures 19.10 and 19.11) and Section 19.6.

    Examples
    --------
    >>> text_x14().X.shape
    (200, 1)
    """
    rng = np.random.default_rng(14)
    X = 15 * rng.standard_normal((200, 1))
    return Regression(X, X[:, 0] + 10 * rng.standard_normal(200) + 20, w=np.ones(1), b=20.0)


def four_heights() -> Regression:
    r"""Return four points for which nu-SV regression has many tubes: shapes (4, 1) and (4,). Typed in.

    With :math:`\nu = 1/2` and C = 4 the optimal line has w = 1; its tube may lie anywhere between the outer and the
    inner points, and all these tubes cost 21/2.

    Notes
    -----
    Source: made here; Proposition 20.4, Case 1b, with :math:`\theta = \epsilon`.

    Examples
    --------
    >>> data = four_heights()
    >>> data.y - data.X[:, 0]
    array([ 0.,  0.,  5., -5.])
    """
    return Regression(np.array([[-1.0], [2.0], [1.0], [0.0]]), np.array([-1.0, 2.0, 6.0, -5.0]))


def ten_points() -> Regression:
    r"""Return ten points on which nu-SV regression can be done by hand: shapes (10, 1) and (10,). Typed in.

    With :math:`\nu = 1/2` and C = 20 the line is f(x) = x + 1 and :math:`\epsilon = 2`; there are points of every
    class. At :math:`\nu` = 0.2, 0.4, 0.6 and 0.8 there are many optimal tubes.

    Notes
    -----
    Source: made here.

    Examples
    --------
    >>> data = ten_points()
    >>> data.y - data.X[:, 0] - 1
    array([ 0.,  2., -2.,  1., -1.,  3., -3.,  3., -2., -2.])
    """
    y = np.array([1.0, 4.0, 1.0, 5.0, 4.0, 9.0, 4.0, 11.0, 7.0, 8.0])
    return Regression(np.arange(10.0)[:, None], y)


def text_uv16() -> TwoClasses:
    """Return u16 and v16 of chapter 18: u and v of shape (30, 2). Regenerated.

    ``u = 10.1 N + 7`` and ``v = -10.1 N - 7``, drawn as 2 x 30 arrays, one point per column: numbers
    12030 to 12089 of Matlab's stream are u, numbers 12090 to 12149 v. They are not separable.

    Notes
    -----
    Source: Section 18.8, used up to Section 18.16. The place in the stream is the one where the text's
    own ADMM takes the 8121 steps that the text reports for nu = 0.37.

    Examples
    --------
    >>> data = text_uv16()
    >>> data.u[0].round(4), data.v[0].round(4)
    (array([ 7.7733, 11.3544]), array([20.5413, -2.0273]))
    """
    u = 10.1 * matlab_randn((2, 30), offset=12030) + 7
    v = -10.1 * matlab_randn((2, 30), offset=12090) - 7
    return TwoClasses(u.T.copy(), v.T.copy())


def nine_points() -> TwoClasses:
    """Return nine points with small integer coordinates: u of shape (4, 2), v of shape (5, 2).

    They are not separable, p differs from q, and every program of chapter 18 has a rational solution on
    them, so its worked example can be done by hand. Made for this book.

    Examples
    --------
    >>> data = nine_points()
    >>> len(data.u), len(data.v)
    (4, 5)
    """
    u = np.array([[2.0, 1], [3, 3], [1, 4], [-1, -1]])
    v = np.array([[-2.0, -1], [-3, 0], [-1, -3], [1, 1], [-2, 2]])
    return TwoClasses(u, v)


def sixty_points() -> TwoClasses:
    """Return 30 + 30 points with one decimal, in the manner of u16 and v16: shapes (30, 2). Seeded.

    ``round(10.1 N + 7, 1)`` and ``round(-10.1 N - 7, 1)`` by ``default_rng(18)``, drawn as 2 x 30 arrays,
    u first.

    Examples
    --------
    >>> sixty_points().u[0]
    array([2.6, 5.4])
    """
    rng = np.random.default_rng(18)
    u = np.round(10.1 * rng.standard_normal((2, 30)) + 7, 1)
    v = np.round(-10.1 * rng.standard_normal((2, 30)) - 7, 1)
    return TwoClasses(u.T.copy(), v.T.copy())


def xor() -> TwoClasses:
    """Return the four corners (+-1, +-1), blue where the signs agree: u and v of shape (2, 2).

    No line separates them; the quadratic kernel does, with f(x) = x1 x2.

    Examples
    --------
    >>> data = xor()
    >>> data.u.prod(axis=1), data.v.prod(axis=1)
    (array([1., 1.]), array([-1., -1.]))
    """
    return TwoClasses(np.array([[1.0, 1], [-1, -1]]), np.array([[1.0, -1], [-1, 1]]))


# ---------------------------------------------------------------------------------------------
# Data of ZM
# ---------------------------------------------------------------------------------------------

_ZM_BLUE = [[3.5, 4.25], [4, 3], [4, 4], [4.5, 1.75], [4.9, 4.5], [5, 4], [5.5, 2.5], [5.5, 3.5]]
_ZM_RED = [[0.5, 1.5], [1, 2.5], [1.25, 0.5], [1.5, 1.5], [2, 2], [2.5, 0.75]]


def zm_fourteen() -> TwoClasses:
    """Return the separable points x1 to x14: u of shape (8, 2), v of shape (6, 2). Printed.

    Notes
    -----
    Source: ZM Table 23.1 (Figure 23.2, Examples 23.1 to 23.3).

    Examples
    --------
    >>> zm_fourteen().X.shape
    (14, 2)
    """
    return TwoClasses(np.array(_ZM_BLUE), np.array(_ZM_RED))


def zm_eighteen() -> TwoClasses:
    """Return the points x1 to x18, not separable: u of shape (10, 2), v of shape (8, 2). Printed.

    The order is x1 to x8, x15, x16 (blue), then x9 to x14, x17, x18 (red).

    Notes
    -----
    Source: ZM Example 23.4 (Figure 23.3).

    Examples
    --------
    >>> zm_eighteen().X.shape
    (18, 2)
    """
    return TwoClasses(np.array([*_ZM_BLUE, [4, 2], [2, 3]]), np.array([*_ZM_RED, [3, 2], [5, 3]]))


def zm_six() -> TwoClasses:
    """Return six points that an ellipse separates: u of shape (4, 2), v of shape (2, 2). Printed.

    Notes
    -----
    Source: ZM Example 23.6, the six support vectors of Figure 23.4. Its other 23 points are drawn there
    but not listed.

    Examples
    --------
    >>> zm_six().X.shape
    (6, 2)
    """
    return TwoClasses(np.array([[1.0, 2], [4, 1], [6, 4.5], [7, 2]]), np.array([[4.0, 4], [6, 3]]))


# ---------------------------------------------------------------------------------------------
# Seeded demonstrations
# ---------------------------------------------------------------------------------------------


def sparse_regression(m: int = 40, n: int = 100, nonzero: int = 5, seed: int = 19) -> Regression:
    """Return a regression with few nonzero weights: X of shape (m, n), y of shape (m,). Seeded.

    X and the noise are normal; the nonzero weights are +-1, +-2, +-3, +-1, ... at random places. Drawn
    by ``default_rng(seed)``: X, places, signs, noise of the standard deviation 0.1.

    Parameters
    ----------
    m, n : int
        Number of rows and columns. The default has more columns than rows.
    nonzero : int
        Number of nonzero weights, at most n.
    seed : int
        Seed of the Generator.

    Examples
    --------
    >>> data = sparse_regression()
    >>> data.X.shape, int(np.count_nonzero(data.w))
    ((40, 100), 5)
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    w = np.zeros(n)
    places = rng.choice(n, size=nonzero, replace=False)
    w[places] = (1 + np.arange(nonzero) % 3) * rng.choice([-1.0, 1.0], size=nonzero)
    return Regression(X, X @ w + 0.1 * rng.standard_normal(m), w=w, b=0.0)


def outlier_line() -> Regression:
    """Return points near a line, some of them far above it: X of shape (40, 1), y of shape (40,). Seeded.

    ``y = 1.5 x + 2 + 0.5 N`` for x uniform on [0, 10]; the six points with the largest x are raised by 15. Drawn by
    ``default_rng(16)``: x, then the noise. Least squares follows the outliers, least absolute deviations does not.

    Examples
    --------
    >>> data = outlier_line()
    >>> residual = data.y - data.X @ data.w - data.b
    >>> int((residual > 10).sum())
    6
    """
    rng = np.random.default_rng(16)
    x = np.sort(rng.uniform(0, 10, size=40))
    y = 1.5 * x + 2 + 0.5 * rng.standard_normal(40)
    y[-6:] += 15
    return Regression(x[:, None], y, w=np.array([1.5]), b=2.0)


def piecewise_constant() -> Regression:
    """Return a noisy step function: X the identity of shape (120, 120), y of shape (120,), w the steps. Seeded.

    Five steps with the levels 0, 2, 1, 3, -1 and noise of deviation 0.4 from ``default_rng(16)``: data for
    total-variation denoising, the generalized lasso with A = I and F the difference matrix.

    Examples
    --------
    >>> data = piecewise_constant()
    >>> data.y.shape, int(np.count_nonzero(np.diff(data.w)))
    ((120,), 4)
    """
    w = np.repeat([0.0, 2, 1, 3, -1], 24)
    y = w + 0.4 * np.random.default_rng(16).standard_normal(120)
    return Regression(np.eye(120), y, w=w, b=0.0)


def noisy_sinc() -> Regression:
    r"""Return points of the curve :math:`\sin(\pi x)/(\pi x)`, disturbed: X of shape (60, 1), y of shape (60,). Seeded.

    The abscissas are equally spaced in [-3, 3]; the noise has the standard deviation 0.1. Every tenth point, from the
    fifth on, is moved up or down by six more of them: an outlier. Drawn by ``default_rng(20)``: noise, then signs.

    Examples
    --------
    >>> data = noisy_sinc()
    >>> int((np.abs(data.y - np.sinc(data.X[:, 0])) > 0.3).sum())
    6
    """
    rng = np.random.default_rng(20)
    x = np.linspace(-3.0, 3.0, 60)
    y = np.sinc(x) + 0.1 * rng.standard_normal(60)
    y[5::10] += 0.6 * rng.choice([-1.0, 1.0], size=6)
    return Regression(x[:, None], y)


def two_circles() -> TwoClasses:
    """Return points on two circles, equally spaced: u on the one of radius 1, v on that of radius 3, shapes (40, 2).

    No line separates them. With the kernel <x, y>^2 the squared radius is a linear feature, and the third
    kernel principal component tells the circles apart.

    Notes
    -----
    Made for Section 17.4. No random numbers.

    Examples
    --------
    >>> data = two_circles()
    >>> np.linalg.norm(data.X, axis=1).round(4)[[0, 39, 40, 79]]
    array([1., 1., 3., 3.])
    """
    angle = 2 * np.pi * np.arange(40) / 40
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return TwoClasses(circle, 3.0 * circle)


# ---------------------------------------------------------------------------------------------
# Measurements, from the sets that come with scikit-learn
# ---------------------------------------------------------------------------------------------


def diabetes() -> Regression:
    """Return the diabetes study: X of shape (442, 10), standardized, and y of shape (442,).

    Ten measurements on 442 patients (age, sex, body mass index, blood pressure, six blood values) and a
    score of the disease's progression a year later, between 25 and 346. Each column of X has mean 0 and
    standard deviation 1; y is as measured. All rows take part in mean and deviation: to estimate an error, put
    ``StandardScaler`` into a pipeline. It gives what it would give on the raw columns, as standardizing undoes any
    unit and origin.

    Notes
    -----
    Source: Efron, Hastie, Johnstone and Tibshirani, "Least angle regression" (2004);
    ``sklearn.datasets.load_diabetes(scaled=False)``.

    Examples
    --------
    >>> data = diabetes()
    >>> data.X.shape, data.names[2], data.y.mean().round(2).item()
    ((442, 10), 'bmi', 152.13)
    """
    raw = _bundled().load_diabetes(scaled=False)
    return Regression(_standardized(raw.data), raw.target, names=tuple(raw.feature_names))


def nile() -> Regression:
    """Return the yearly flow of the Nile at Aswan, 1871 to 1970: X of shape (100, 1), y of shape (100,). Typed in.

    X is the year, y the flow in 10^8 cubic metres. The level drops by about a quarter around 1898, and one year, 1913,
    is extremely dry: a noisy signal in one variable.

    Notes
    -----
    Source: Cobb, "The problem of the Nile", Biometrika 65 (1978), 243-251;
    the data set ``Nile`` of R.

    Examples
    --------
    >>> data = nile()
    >>> data.X[[0, -1], 0], data.y.mean().round(2).item(), data.X[data.y.argmin(), 0].item()
    (array([1871., 1970.]), 919.35, 1913.0)
    """
    flow = """
        1120 1160  963 1210 1160 1160  813 1230 1370 1140  995  935 1110  994 1020  960 1180  799  958 1140
        1100 1210 1150 1250 1260 1220 1030 1100  774  840  874  694  940  833  701  916  692 1020 1050  969
         831  726  456  824  702 1120 1100  832  764  821  768  845  864  862  698  845  744  796 1040  759
         781  865  845  944  984  897  822 1010  771  676  649  846  812  742  801 1040  860  874  848  890
         744  749  838 1050  918  986  797  923  975  815 1020  906  901 1170  912  746  919  718  714  740
    """
    y = np.array(flow.split(), dtype=float)
    return Regression(np.arange(1871.0, 1971.0)[:, None], y, names=("year",))


def iris(version: str = "sklearn") -> Labelled:
    """Return Fisher's irises: X of shape (150, 4) in cm, y of shape (150,), three classes of 50.

    Parameters
    ----------
    version : str
        ``"sklearn"``, which follows Fisher's paper, or ``"uci"``: the copy that ZM uses differs in two rows.

    Notes
    -----
    Source: R. A. Fisher (1936); ``sklearn.datasets.load_iris``. In the UCI copy, rows 34 and 37 (counting
    from 0) are both (4.9, 3.1, 1.5, 0.1).

    Examples
    --------
    >>> data = iris()
    >>> data.X[0], data.classes
    (array([5.1, 3.5, 1.4, 0.2]), ('setosa', 'versicolor', 'virginica'))
    """
    data = _labelled(_bundled().load_iris())
    if check_choice(version, "version", ("sklearn", "uci")) == "uci":
        data.X[[34, 37]] = 4.9, 3.1, 1.5, 0.1
    return data


def iris_components() -> TwoClasses:
    """Return two principal components, versicolor against the rest: u (100, 2), v (50, 2).

    The red points v (label -1) are versicolor. The components are those of the centred, unscaled UCI
    rows; the signs are ZM's: petal length counts negative in the first, sepal width positive in the second.

    Notes
    -----
    Source: ZM Examples 23.8 and 23.10.

    Examples
    --------
    >>> data = iris_components()
    >>> data.X.shape, bool(np.allclose(data.X.mean(axis=0), 0))
    ((150, 2), True)
    """
    data = iris("uci")
    centred = data.X - data.X.mean(axis=0)
    _, _, Vt = np.linalg.svd(centred, full_matrices=False)
    u1, u2 = Vt[0] * -np.sign(Vt[0, 2]), Vt[1] * np.sign(Vt[1, 1])
    Z = centred @ np.column_stack([u1, u2])
    return TwoClasses(Z[data.y != 1], Z[data.y == 1])


def breast_cancer() -> Labelled:
    """Return the Wisconsin diagnostic study: X of shape (569, 30), standardized, y of shape (569,).

    Class 0 is malignant (212 tumours), class 1 benign (357). Each column of X has mean 0 and standard
    deviation 1, over all rows: to estimate an accuracy, put ``StandardScaler`` into a pipeline (see :func:`diabetes`).

    Notes
    -----
    Source: Street, Wolberg and Mangasarian (1993); ``sklearn.datasets.load_breast_cancer``. It is not
    the older 683 x 9 set of the same name that YCG use.

    Examples
    --------
    >>> data = breast_cancer()
    >>> data.X.shape, data.classes
    ((569, 30), ('malignant', 'benign'))
    """
    return _labelled(_bundled().load_breast_cancer(), _standardized)


def wine() -> Labelled:
    """Return the wines of three growers: X of shape (178, 13), standardized, y of shape (178,).

    Mean 0 and standard deviation 1 hold over all rows: to estimate an accuracy, put ``StandardScaler`` into a
    pipeline (see :func:`diabetes`).

    Notes
    -----
    Source: Forina et al., UCI; ``sklearn.datasets.load_wine``.

    Examples
    --------
    >>> data = wine()
    >>> data.X.shape, len(data.classes)
    ((178, 13), 3)
    """
    return _labelled(_bundled().load_wine(), _standardized)


def digits() -> Labelled:
    """Return handwritten digits: X of shape (1797, 64), grey values between 0 and 1, y of shape (1797,).

    Row i is an 8 x 8 picture, ``X[i].reshape(8, 8)``; y is the digit.

    Notes
    -----
    Source: Alpaydin and Kaynak, UCI (1998), test part; ``sklearn.datasets.load_digits``. Grey values are
    divided by 16.

    Examples
    --------
    >>> threes_and_fives = digits().pair(3, 5)
    >>> len(threes_and_fives.u), len(threes_and_fives.v)
    (183, 182)
    """
    return _labelled(_bundled().load_digits(), lambda grey: grey / 16)


def _bundled() -> Any:
    """Return scikit-learn's data sets: what is printed, drawn or seeded does without them."""
    from sklearn import datasets

    return datasets


def _standardized(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _labelled(raw: Any, changed: Callable[[np.ndarray], np.ndarray] = np.array) -> Labelled:
    """Return a set of scikit-learn, with what becomes of its points."""
    names = tuple(str(name).removesuffix(" (cm)") for name in raw.feature_names)
    return Labelled(changed(raw.data), raw.target, names, tuple(map(str, raw.target_names)))
