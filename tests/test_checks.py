"""Validation: right values pass unchanged, wrong ones are named in the message."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from companion import checks
from companion.engine.arithmetic import apart
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
    step = checks.as_schedule(lambda k: k / 2, "step", at_least=0.0)
    assert [step(k) for k in range(3)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (vector, [1, np.nan], r"b must be finite, got nan at \[1\]"),
        (vector, [[1, 2]], r"b must be a vector, got an array of shape \(1,"),
        (three, [1, 2], "b must have length 3, got length 2"),
        (vector, np.ma.array([1.0, 2.0], mask=[0, 1]), "b has masked"),
        (limits, [np.nan], "upper must not contain NaN"),
        (limits, [1e80, np.inf], "upper has numbers of the size"),
        (matrix, [1.0, 2.0], r"A must be a matrix \(2-D\), got an array of s"),
        (partial(matrix, shape=(None, 3)), [[1.0, 2.0]], r"shape \(any, 3\), got \(1, 2\)"),
        (matrix, [[1.0, np.nan]], r"A must be finite, got nan at \[0, 1\]"),
        (symmetric, [[1.0, 2.0]], "P must be square"),
        (symmetric, [[1.0, 2.0], [0.0, 1.0]], r"pass \(P \+ P.T\) / 2"),
        (positive, 0, "rho must be a finite number > 0, got 0"),
        (positive, np.float64(0.0), r"rho must be a finite number > 0, got 0\.0$"),
        (positive, np.nan, "rho must be a finite number > 0, got nan"),
        (positive, 1e-80, "rho has numbers of the size 1e-80, .* choose units"),
        (below_1, 1, ">= 0 and < 1, got 1"),
        (positive, True, "rho must be a finite number > 0, got bool True"),
        (count, 0, "m must be an integer >= 1, got 0"),
        (count, 1.5, "m must be an integer >= 1, got float 1.5"),
        (lambda v: checks.as_schedule(v, "step", above=0)(2), lambda k: 0.0, r"step\(2\) must be"),
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
        with pytest.raises(TypeError, match="x must be an array of numbers, got dates"):
            checks.reject_masked(value, "x")


@pytest.mark.parametrize("limit", [2 / 3, 1.0, 1e-12, 24.0, 1e9 / 7])
def test_numbers_that_differ_look_different(limit):
    for near in (np.nextafter(limit, 2 * limit), limit * (1 + 1e-9), 2 * limit):
        given, accepted = apart(near, limit, -1.0)
        assert given != accepted
        assert float(given) > limit >= float(accepted)
    assert apart(limit, limit) == (f"{limit:.6g}",) * 2
