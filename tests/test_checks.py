"""Validation: right values pass unchanged, wrong ones are named in the message."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from companion.checks import (
    as_matrix,
    as_scalar,
    as_schedule,
    as_symmetric,
    as_vector,
    check_count,
    reject_masked,
)


def limits(value):
    return as_vector(value, "upper", finite=False)


def positive(value):
    return as_scalar(value, "rho", above=0)


@pytest.mark.parametrize(
    ("check", "values", "expected"),
    [
        (as_vector, ([1, 2], (1.0, 2.0), np.float32([1, 2]), np.ma.array([1, 2])), [1.0, 2.0]),
        (as_vector, (3, 3.0), [3.0]),
        (as_vector, ([1e-200],), [1e-200]),  # an iterate may go to zero
        (as_matrix, ([[1, 2]], sparse.csr_matrix([[1, 2]]), pd.DataFrame([[1, 2]])), [[1.0, 2.0]]),
        (as_symmetric, ([[1, 2 + 1e-12], [2, 1]],), [[1.0, 2 + 5e-13], [2 + 5e-13, 1.0]]),
        (lambda value, _: limits(value), ([1.0, np.inf],), [1.0, np.inf]),
        (as_scalar, (0.5, np.float32(0.5), np.array(0.5)), 0.5),
        (check_count, (3, np.int64(3)), 3),
        (as_schedule, (lambda k: k / 2,), None),
    ],
)
def test_good_values_pass(check, values, expected):
    for value in values:
        if expected is None:
            assert [check(value, "step", at_least=0.0)(k) for k in range(3)] == [0.0, 0.5, 1.0]
        else:
            found = check(value, "x")
            assert_array_equal(found, expected)
            assert isinstance(found, int) or np.asarray(found).dtype == np.float64


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (lambda v: as_vector(v, "b"), [1, np.nan], r"b must be finite, got nan at \[1\]"),
        (lambda v: as_vector(v, "b"), [np.inf, 1], r"b must be finite, got inf at \[0\]"),
        (lambda v: as_vector(v, "b"), [[1, 2]], r"b must be a vector, got an array of shape \(1,"),
        (lambda v: as_vector(v, "b", 2), [1, 2, 3], "b must have length 2, got length 3"),
        (lambda v: as_vector(v, "b"), np.ma.array([1.0, 2.0], mask=[0, 1]), "b has masked"),
        (limits, [np.nan], "upper must not contain NaN"),
        (limits, [1e80, np.inf], "upper has numbers of the size"),
        (lambda v: as_matrix(v, "A"), [1.0, 2.0], r"A must be a matrix \(2-D\), got an array of s"),
        (lambda v: as_matrix(v, "A", (None, 3)), [[1.0, 2.0]], r"shape \(any, 3\), got \(1, 2\)"),
        (lambda v: as_matrix(v, "A"), [[1.0, np.nan]], r"A must be finite, got nan at \[0, 1\]"),
        (lambda v: as_symmetric(v, "P"), [[1.0, 2.0]], "P must be square"),
        (lambda v: as_symmetric(v, "P"), [[1.0, 2.0], [0.0, 1.0]], r"pass \(P \+ P.T\) / 2"),
        (positive, 0, "rho must be a finite number > 0, got 0"),
        (positive, np.float64(0.0), r"rho must be a finite number > 0, got 0\.0$"),
        (positive, np.nan, "rho must be a finite number > 0, got nan"),
        (positive, np.inf, "rho must be a finite number > 0, got inf"),
        (positive, 1e-80, "rho has numbers of the size 1e-80, .* choose units"),
        (lambda v: as_scalar(v, "nu", at_least=0, below=1), 1, ">= 0 and < 1, got 1"),
        (positive, True, "rho must be a finite number > 0, got bool True"),
        (lambda v: check_count(v, "m"), 0, "m must be an integer >= 1, got 0"),
        (lambda v: check_count(v, "m"), 1.5, "m must be an integer >= 1, got float 1.5"),
        (lambda v: as_vector(v, "b"), None, "b must be an array of numbers, got None"),
        (lambda v: as_schedule(v, "step", above=0)(2), lambda k: 0.0, r"step\(2\) must be"),
    ],
)
def test_bad_values_are_named(check, value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check(value)


DATES = [
    np.array(["2024-01-31"], dtype="datetime64[D]"),
    np.array(["NaT"], dtype="timedelta64[s]"),
    pd.Series(pd.to_datetime(["2024-01-31"], utc=True)),
    pd.DataFrame({"a": [1.0], "b": pd.to_datetime(["2024-01-31"])}),
]


@pytest.mark.parametrize("value", DATES, ids=str)
def test_dates_do_not_reach_scikit_learn(value):
    with pytest.raises(TypeError, match="x must be an array of numbers, got dates"):
        reject_masked(value, "x")
