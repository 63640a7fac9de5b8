"""Validation: right values pass unchanged, wrong ones are named in the message."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from companion import checks
from companion.admm import solve_qp
from companion.arguments import as_schedule
from companion.arithmetic import apart
from companion.engine.refusals import check_bounds
from companion.regression import KernelRidge, RidgeRegression
from companion.svm import SVMs1, SVMs2, SVMs2prime, SVMs3
from tests.hostile.attacks import FORMATS, HOSTILE, names_the_cause, snapshot

vector, matrix = partial(checks.as_vector, name="b"), partial(checks.as_matrix, name="A")
symmetric, count = partial(checks.as_symmetric, name="P"), partial(checks.check_count, name="m")
limits = partial(checks.as_vector, name="upper", finite=False)
positive = partial(checks.as_scalar, name="rho", above=0)
three, below_1 = partial(vector, size=3), partial(checks.as_scalar, name="nu", at_least=0, below=1)


@pytest.mark.parametrize(
    ("check", "values", "expected"),
    [
        (vector, ([1, 2], (1.0, 2.0), np.float32([1, 2]), np.ma.array([1, 2])), [1.0, 2.0]),
        (vector, (3, 3.0), [3.0]),
        (vector, ([1e-200],), [1e-200]),  # an iterate may go to zero
        (limits, ([1.0, np.inf],), [1.0, np.inf]),
        (matrix, ([[1, 2]], sparse.csr_matrix([[1, 2]]), pd.DataFrame([[1, 2]])), [[1.0, 2.0]]),
        (symmetric, ([[1, 2 + 1e-12], [2, 1]],), [[1.0, 2 + 5e-13], [2 + 5e-13, 1.0]]),
        (positive, (0.5, np.float32(0.5), np.array(0.5)), 0.5),
        (count, (3, np.int64(3)), 3),
    ],
)
def test_good_values_pass(check, values, expected):
    for value in values:
        found = check(value)
        assert_array_equal(found, expected)
        assert isinstance(found, int) or np.asarray(found).dtype == np.float64


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("check", [vector, matrix])
def test_every_format_of_numbers_is_read(check, form):
    array = np.array([[2.0, -1.0], [3.0, 4.0]] if check is matrix else [2.0, -1.0, 3.0])
    given = FORMATS[form](array)
    before = snapshot(given)
    assert_array_equal(check(given), array)
    assert_array_equal(snapshot(given), before)


@pytest.mark.parametrize("attack", HOSTILE)
@pytest.mark.parametrize("check", [three, partial(matrix, shape=(3, 2))])
def test_every_attack_is_refused_by_name(check, attack):
    array = np.arange(3.0) if check is three else np.arange(6.0).reshape(3, 2)
    with pytest.raises((ValueError, TypeError), match=r"^[Ab] ") as caught:
        check(HOSTILE[attack](array))
    assert names_the_cause(caught.value) is None


def test_good_schedules_pass():
    step = as_schedule(lambda k: k / 2, "step", at_least=0.0)
    assert [step(k) for k in range(3)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (vector, [1, np.nan], r"b must be finite, got nan at \[1\]"),
        (vector, [[1, 2]], r"b must be a vector, got an array of shape \(1,"),
        (three, [1, 2], "b must have length 3, got length 2"),
        (limits, [np.nan], "upper must be a number or infinite, got nan"),
        (limits, [1e80, np.inf], "upper has numbers of the size"),
        (matrix, [1.0, 2.0], r"A must be a matrix \(2-D\), got an array of s"),
        (partial(matrix, shape=(None, 3)), [[1.0, 2.0]], r"shape \(any, 3\), got \(1, 2\)"),
        (symmetric, [[1.0, 2.0]], "P must be square"),
        (symmetric, [[1.0, 2.0], [0.0, 1.0]], r"pass \(P \+ P.T\) / 2"),
        (positive, 0, "rho must be a finite number > 0, got 0"),
        (positive, np.float64(0.0), r"rho must be a finite number > 0, got 0\.0$"),
        (positive, np.nan, "rho must be a finite number > 0, got nan"),
        (positive, 1e-80, "rho has numbers of the size 1e-80, .* choose units"),
        (below_1, 1, ">= 0 and < 1, got 1"),
        (positive, True, "rho must be a finite number > 0, got bool True"),
        (positive, np.complex128(1 + 2j), "rho must be a finite number > 0, got complex128"),
        (positive, 10**400, "rho must be a finite number > 0, got int 1000"),
        (vector, [10**400], "b must be an array of real numbers, got list"),
        (count, 0, "m must be an integer >= 1, got 0"),
        (count, 1.5, "m must be an integer >= 1, got float 1.5"),
        (
            lambda v: as_schedule(v, "step", above=0)(2),
            lambda k: 0.0,
            r"step\(2\) must be",
        ),
        (lambda X: SVMs2().fit(X, [0, 1]), [[1], [2, 3]], r"X must be an array of real num"),
        (lambda X: RidgeRegression().fit(*SEVEN).predict(X), [["a"]], "X must be an array of real"),
        (lambda y: RidgeRegression().fit([[0], [1]], y), ["a", "b"], "y must be an array of real"),
        (lambda k: SVMs2(kernel_params=k).fit(*SEVEN), [0.5], "kernel_params must be a dict or"),
        (lambda v: KernelRidge(intercept=v).fit(*SEVEN), np.ones(2), "intercept must be one"),
    ],
)
def test_bad_values_are_named(check, value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check(value)


def test_dates_do_not_reach_scikit_learn():
    day = pd.to_datetime(["2024-01-31"])
    for value in (
        np.array(["2024-01-31"], dtype="datetime64[D]"),
        np.array(["NaT"], dtype="timedelta64[s]"),
        pd.Series(day.tz_localize("UTC")),
        pd.DataFrame({"a": [1.0], "b": day}),
    ):
        with pytest.raises(TypeError, match="x must be an array of real numbers, got dates"):
            checks.reject_masked(value, "x")


@pytest.mark.parametrize("limit", [2 / 3, 1.0, 1e-12, 24.0, 1e9 / 7])
def test_numbers_that_differ_look_different(limit):
    for near in (np.nextafter(limit, 2 * limit), limit * (1 + 1e-9), 2 * limit):
        given, accepted = apart(near, limit, -1.0)
        assert given != accepted
        assert float(given) > limit >= float(accepted)
    assert apart(limit, limit) == (f"{limit:.6g}",) * 2


THREE, SEVEN = ([[0.0], [1.0], [2.0]], [0, 1, 1]), (np.arange(7.0)[:, None], [0, 1, 0, 1, 0, 1, 1])
SWAP = ([[0.0, 1 / 3], [1 / 3, 0.0]], [1.0, 2.0])  # its eigenvalues are 1/3 and -1/3
LIMITED = [  # a call, its limit, the side that is refused, and what it says of the two numbers
    (lambda nu: SVMs2prime(nu).fit(*THREE), 2 / 3, 1, "nu = (.*) exceeds .* = (.*) for p"),
    (lambda nu: SVMs3(nu).fit(*THREE), 1.0, 1, "nu = (.*) exceeds (.*) for p = 2, q"),
    (lambda K: SVMs1(K).fit(*SEVEN), 1 / 6, -1, r"K = (.*) is below .*\) = (.*) for p"),
    (lambda K: SVMs1(K).fit(*SEVEN), 5 / 24, 1, "K = (.*) is at least (.*): the optimal"),
    (lambda nu: SVMs2prime(nu).fit(*SEVEN), 24 / 35, -1, "nu = (.*) is at most .* = (.*): the op"),
    (lambda K: KernelRidge(K, kernel="precomputed").fit(*SWAP), 1 / 3, -1, "K = (.*) is too small: (.*) is"),
    (lambda v: checks.as_scalar(v, "t", at_most=2 / 3), 2 / 3, 1, "<= (?P<limit>.*), got (.*)"),
    (lambda v: checks.as_scalar(v, "t", at_least=2 / 3), 2 / 3, -1, ">= (?P<limit>.*), got (.*)"),
    (lambda v: checks.as_array([v], "t"), 1e75, 1, "size (.*), whose .* to (.*)"),
    (lambda v: check_bounds(np.array([v]), np.array([2 / 3])), 2 / 3, 1, "lower = (.*), .* = (.*);"),
    (lambda v: solve_qp([[1.0]], [0.0], [[1.0]], [v], upper=2 / 3, lower=0.0), 2 / 3, 1,
     "at most (?P<limit>.*), but .* = (.*)"),
]  # fmt: skip


def told(call, value):
    """Return what a call refuses, or warns of, "" if nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call(value)
        except ValueError as error:
            return str(error)
    return " ".join(str(each.message) for each in caught)


@pytest.mark.parametrize("off", [1e-8, 1e-6, 0.1])
@pytest.mark.parametrize("row", LIMITED, ids=[row[3] for row in LIMITED])
def test_a_limit_in_a_refusal_differs_from_what_is_refused_and_is_accepted(row, off):
    call, limit, side, text = row
    found = re.search(text, told(call, limit * (1.0 + side * off)))
    first, second = found.groups()
    given, named = (second, first) if "limit" in found.groupdict() else (first, second)
    assert side * (float(given) - float(named)) > 0.0
    assert float(named) == pytest.approx(limit, rel=1e-5)
    assert not re.search(text, told(call, float(named)))


@pytest.mark.parametrize("model", [RidgeRegression(), SVMs2()])
def test_arrays_are_taken_as_scikit_learn_takes_them(model):
    X, y = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]]), np.array([1, -1, 1])
    frame = pd.DataFrame(np.column_stack([X, X]), columns=list("abcd"))
    w = model.fit(X.tolist(), y.tolist()).w_
    assert_array_equal(model.fit(frame, y).feature_names_in_, list("abcd"))
    assert_array_equal(model.fit(X, y).w_, w)
    assert (model.n_features_in_, hasattr(model, "feature_names_in_")) == (2, False)
    for wrong in (X[0], X[:2], X[:0], np.full((3, 2), np.nan), np.full((3, 2), np.inf), X + 1j):
        with pytest.raises(ValueError, match=r"Expected 2D|inconsistent|0 sample|NaN|inf|Complex"):
            model.fit(wrong, y)
